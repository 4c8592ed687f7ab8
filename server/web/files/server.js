// What the page asks the server.

export class Server {
  /** A tenant's, where the server wants one; kept in this page's memory alone. */
  key = "";

  /** Throws what the server says instead. */
  async ask(path, method = "GET") {
    return (await this.#answer(path, { method })).json();
  }

  paths(query) {
    const parts = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
    return this.ask(`paths?${parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`);
  }

  /** Server-sent events as {event, data}, until there are no more. */
  async *events(path, signal) {
    const answer = await this.#answer(path, { signal });
    let text = "";
    for await (const part of read(answer.body.pipeThrough(new TextDecoderStream()))) {
      const events = (text + part).split("\n\n");
      text = events.pop();
      for (const event of events) yield fields(event);
    }
  }

  async #answer(path, options) {
    const headers = this.key === "" ? {} : { Authorization: `Bearer ${this.key}` };
    const answer = await fetch(path, { ...options, headers, cache: "no-store" });
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(said.error ?? `${path}: ${answer.status}`), { status: answer.status });
  }
}

async function* read(stream) {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

function fields(text) {
  const event = { event: "message", data: "" };
  for (const line of text.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) event[line.slice(0, at)] = line.slice(at + 2);
  }
  return event;
}
