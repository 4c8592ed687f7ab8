"""A client of the dialogue model, over plain HTTP.

    python3 examples/dialogue/talk.py HOST:PORT

holds a conversation with a server of the model. "my color is blue ." states a fact, "my color is" asks for it.
"""

import http.client
import itertools
import json
import sys

import model

LONGEST_ANSWER = 4


class Connection:
    """A persistent connection to one server. Sends words, and receives the word that the model expects after each."""

    def __init__(self, address):
        self.http = http.client.HTTPConnection(address, timeout=30)

    def infer(self, ids, **parameters):
        request = {
            "parameters": parameters,
            "inputs": [{"name": "words", "datatype": "INT64", "shape": [len(ids)], "data": ids}],
            "outputs": [{"name": "next"}],
        }
        self.http.request("POST", "/v2/models/dialogue/infer", json.dumps(request).encode())
        answer = self.http.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(body["error"])
        return body["outputs"][0]["data"]


class Conversation:
    """One sequence, whose turns may go to any of several servers that share their states."""

    numbers = itertools.count(1)

    def __init__(self, servers, parent=None):
        self.servers = servers
        self.id = f"talk{next(self.numbers)}"
        self.told = list(parent.told) if parent else []
        self.first = {"sequence_start": True} | ({"sequence_parent": parent.id} if parent else {})
        self.turn = 0

    def send(self, ids):
        server = self.servers[self.turn % len(self.servers)]
        expected = server.infer(ids, sequence_id=self.id, **self.first)
        self.first, self.told, self.turn = {}, self.told + ids, self.turn + 1
        return expected[-1]

    def tell(self, text):
        self.send(model.ids_of(text))

    def ask(self, text):
        """Returns the words up to the end of the sentence. The answer becomes part of the history."""
        answer = [self.send(model.ids_of(text))]
        while model.WORDS[answer[-1]] != "." and len(answer) < LONGEST_ANSWER:
            answer.append(self.send(answer[-1:]))
        self.send(answer[-1:])
        return " ".join(model.WORDS[word] for word in answer if model.WORDS[word] != ".")

    def fork(self):
        """Returns another conversation that starts from the current state of this one."""
        return Conversation(self.servers, self)


def main():
    talk = Conversation([Connection(sys.argv[1])])
    talk.tell(model.PROMPT)
    for line in sys.stdin:
        unknown = [word for word in line.split() if word not in model.WORDS]
        if unknown:
            print(f"I do not know {unknown[0]!r}; my words are {' '.join(model.WORDS)}")
        elif line.strip().endswith("."):
            talk.tell(line)
        elif line.strip():
            print(talk.ask(line))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
