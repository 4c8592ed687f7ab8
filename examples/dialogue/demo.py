"""Runs a conversation over several turns on two replicas, a fork of it, and many that begin with the same prompt.

    PYTHONPATH=build/python python3 examples/dialogue/demo.py [--frazil build/frazil]
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import model
import talk

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serving"))
import fleet as fleets  # noqa: E402

MANY = 100


def say(topic, text):
    print(f"{topic:12}" + text.replace("\n", "\n" + 12 * " "), flush=True)


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


class Demo:
    def __init__(self, fleet):
        self.fleet = fleet
        self.replicas = list(fleet.replicas.values())
        self.servers = [talk.Connection(f"127.0.0.1:{replica.http}") for replica in self.replicas]
        self.wrong = 0

    def metric(self, name):
        """Returns the sum over the replicas."""
        total = 0
        for replica in self.replicas:
            lines = replica.ask("GET", "/metrics", replica.metrics)[1].splitlines()
            total += sum(float(line.split()[-1]) for line in lines if line.split()[0] == name)
        return total

    def ask(self, conversation, question, who="asks"):
        said = conversation.told + model.ids_of(question)
        right = model.WORDS[model.expected(said)]
        answer = conversation.ask(question)
        self.wrong += answer.split()[:1] != [right]
        say(who, f"{question} ... {answer}" + ("" if answer.split()[:1] == [right] else f"   WRONG: {right}"))

    def converse(self):
        one = talk.Conversation(self.servers)
        one.tell(model.PROMPT)
        say("prompt", f"{len(one.told)} words: {' '.join(model.FACTS[:3])} ...")
        for text in ("my name is ada .", "my color is red ."):
            one.tell(text)
            say("tells", text)
        self.ask(one, "my name is")
        self.ask(one, "item77 costs")
        self.ask(one, "my color is")
        what_if = one.fork()
        for text, talks, who in (("my color is blue .", one, "tells"), ("my color is green .", what_if, "what if")):
            talks.tell(text)
            say(who, text)
        self.ask(one, "my color is")
        self.ask(what_if, "my color is", "what if")
        self.ask(what_if, "my name is", "what if")
        self.ask(one, "my name is")
        say("", f"each turn went to the other replica than the one before: {one.turn + what_if.turn} turns")
        return one

    def count_hand_over(self, one):
        """Measures the mean number of bytes that a turn sends to Redis while turns alternate between the replicas."""
        turns = 20
        before = self.fleet.redis_number("stats", "total_net_input_bytes")
        for _ in range(turns):
            one.tell("thanks")
        sent = (self.fleet.redis_number("stats", "total_net_input_bytes") - before) / turns
        whole = len(one.told) * model.LAYERS * 2 * model.MODEL * 4
        say("hand-over", f"a turn of one word sends {sent / 1e3:.0f} KB to Redis; the whole state has {megabytes(whole)}")

    def compare_with_history(self, one):
        """Compares the time of an answer from the state with that of an answer from the whole history."""
        question = model.ids_of("my color is")
        stays, moves, again = [], [], []
        for servers, times in ((self.servers[:1], stays), (self.servers, moves)):
            other = talk.Conversation(servers, one)
            for i in range(12):
                begun = time.monotonic()
                answer = other.send(question)
                times.append(time.monotonic() - begun)
                self.wrong += answer != model.expected(other.told)
        for _ in range(5):
            begun = time.monotonic()
            once = {"sequence_id": "once", "sequence_start": True, "sequence_end": True}
            answer = self.servers[0].infer(one.told + question, **once)[-1]
            again.append(time.monotonic() - begun)
            self.wrong += answer != model.expected(one.told + question)
        stay, move, all_again = (1000 * statistics.median(times) for times in (stays, moves, again))
        say(
            "latency",
            f"a turn of {len(question)} words takes {stay:.1f} ms at one replica, {move:.1f} ms when it moves to the other,\n"
            f"and {all_again:.1f} ms when the {len(one.told)} words before come with it again",
        )

    def begin_many(self):
        """Starts conversations with the same prompt and reports the memory of their states."""
        stored = self.fleet.redis_number("memory", "used_memory")
        for i in range(MANY):
            other = talk.Conversation(self.servers)
            other.tell(model.PROMPT)
            other.tell(f"my name is {'ada' if i % 2 else 'bob'} .")
        pages, shared = self.metric("frazil_sequence_pages"), self.metric("frazil_sequence_pages_shared")
        saved = self.metric("frazil_sequence_shared_bytes")
        whole = len(other.told) * model.LAYERS * 2 * model.MODEL * 4 * MANY
        say(
            "memory",
            f"the states of {MANY} more conversations with this prompt have {megabytes(whole)}\n"
            f"they take {megabytes(self.fleet.redis_number('memory', 'used_memory') - stored)} more in Redis\n"
            f"the two replicas have {pages:.0f} pages, {shared:.0f} of them for several conversations, "
            f"instead of {megabytes(saved)} more",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frazil", default=HERE.parents[1] / "build" / "frazil", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model.write(pathlib.Path(folder) / "models")
        config = (HERE / "frazil.yaml").read_text().replace("STATES", model.states())
        with fleets.Fleet(folder, options.frazil.resolve()) as fleet:
            fleet.start_redis()
            fleet.start_replicas(config)
            demo = Demo(fleet)
            one = demo.converse()
            demo.count_hand_over(one)
            demo.compare_with_history(one)
            demo.begin_many()
    say("answers", "all as they have to be" if demo.wrong == 0 else f"{demo.wrong} are WRONG")
    sys.exit(demo.wrong != 0)


if __name__ == "__main__":
    main()
