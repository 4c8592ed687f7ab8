// What the client programs share: the line that run.py reads.

/** Prints the results, and the median time of `job` in milliseconds over `rounds` calls after one to warm up. */
export async function report(results, job, rounds = 7) {
  const times = [];
  if (job) {
    await job();
    for (let i = 0; i < rounds; ++i) {
      const start = performance.now();
      await job();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
  }
  console.log("RESULT " + JSON.stringify({ results, ms: times[times.length >> 1] ?? null }));
}

/** The elements of a tensor as text that is equal if the elements are. */
export function plain(data) {
  return Array.from(data, (v) => (typeof v === "bigint" ? `${v}n` : v));
}
