"""Programs as PyTorch's tutorials write them: each is a text that runs with PyTorch and with frazil.torch.

`torch_nn` and the like stand for packages of either.
make() returns the module, use(model, *arrays) what is compared. `arrays` of a program returns one list for each call.
"""

from __future__ import annotations

from torch_program import Program, floats, tokens
from torch_programs_images import PROGRAMS as OF_IMAGES

PROGRAMS = {
    **OF_IMAGES,
    "mlp": Program(
        '''
class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)
        )

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)

def make():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return NeuralNetwork().to(device)

def use(model, x):
    model.eval()
    with torch.no_grad():
        logits = model(torch.from_numpy(x))
        probabilities = F.softmax(logits, dim=1)
        predicted = probabilities.argmax(1)
        correct = (predicted == torch.tensor([1, 2, 3])[: len(x)]).type(torch.float).sum().item()
    return logits, probabilities, predicted, correct, logits[0].argmax().item()
''',
        lambda r: [[floats(r, 3, 1, 28, 28)], [floats(r, 2, 1, 28, 28)]],
    ),
    "char rnn": Program(
        '''
class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.i2o(combined)
        output = self.softmax(output)
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)

def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, 26)
    for li, letter in enumerate(line):
        tensor[li][0][ord(letter) - 97] = 1
    return tensor

def make():
    return RNN(26, 12, 5)

def use(model, word):
    line_tensor = line_to_tensor(word)
    hidden = model.init_hidden()
    with torch.no_grad():
        for i in range(line_tensor.size()[0]):
            output, hidden = model(line_tensor[i], hidden)
    topv, topi = output.topk(3, 1, True)
    guesses = [(topv[0][i].item(), topi[0][i].item()) for i in range(3)]
    return output, hidden, guesses, line_tensor.shape
''',
        lambda r: [["satoshi"], ["ada"]],
    ),
    "seq2seq": Program(
        '''
class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, input):
        return self.gru(self.embedding(input))

class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights

class AttnDecoderRNN(nn.Module):
    MAX_LENGTH = 6

    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(0)
        decoder_hidden = encoder_hidden
        decoder_outputs = []
        attentions = []
        for i in range(self.MAX_LENGTH):
            decoder_output, decoder_hidden, attn = self.forward_step(decoder_input, decoder_hidden, encoder_outputs)
            decoder_outputs.append(decoder_output)
            attentions.append(attn)
            _, topi = decoder_output.topk(1)
            decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = F.log_softmax(torch.cat(decoder_outputs, dim=1), dim=-1)
        return decoder_outputs, decoder_hidden, torch.cat(attentions, dim=1)

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input)
        context, attn = self.attention(hidden.permute(1, 0, 2), encoder_outputs)
        output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
        return self.out(output), hidden, attn

class Translate(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = EncoderRNN(11, 8), AttnDecoderRNN(8, 9)

    def forward(self, sentence):
        outputs, hidden = self.encoder(sentence)
        return self.decoder(outputs, hidden)

def make():
    return Translate()

def use(model, sentence):
    with torch.no_grad():
        outputs, hidden, attentions = model(torch.from_numpy(sentence))
    decoded_ids = outputs.topk(1)[1].squeeze()
    return outputs, hidden, attentions, [idx.item() for idx in decoded_ids[0]]
''',
        lambda r: [[tokens(r, 11, 2, 5)], [tokens(r, 11, 3, 7)]],
    ),
    "transformer": Program(
        '''
import math

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)

class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers, dropout=0.5):
        super().__init__()
        self.model_type = 'Transformer'
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        encoder_layers = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = nn.TransformerEncoder(encoder_layers, nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src, src_mask=None):
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = torch.triu(torch.full((len(src), len(src)), float('-inf')), diagonal=1)
        output = self.transformer_encoder(src, src_mask)
        return self.linear(output)

def make():
    return TransformerModel(13, 8, 2, 16, 2)

def use(model, src):
    model.eval()
    src = torch.tensor(src)
    seq_len = src.size(0)
    mask = torch.triu(torch.ones(seq_len, seq_len) * float('-inf'), diagonal=1)
    with torch.no_grad():
        output = model(src, mask)
        return output, model(src), output.view(-1, 13).shape, model.pos_encoder.pe
''',
        lambda r: [[tokens(r, 13, 5, 2)], [tokens(r, 13, 9, 3)]],
    ),
    "text classifier": Program(
        '''
class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self):
        initrange = 0.5
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        embedded = self.embedding(text, offsets)
        return self.fc(embedded)

def collate_batch(batch):
    text_list, offsets = [], [0]
    for text in batch:
        processed_text = torch.tensor(text, dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    return torch.cat(text_list), torch.tensor(offsets[:-1]).cumsum(dim=0)

def make():
    return TextClassificationModel(20, 8, 4)

def use(model, *texts):
    with torch.no_grad():
        text, offsets = collate_batch(texts)
        predicted_label = model(text, offsets)
        one = model(torch.tensor(texts[0]), torch.tensor([0]))
        return predicted_label, predicted_label.argmax(1), one, one.argmax(1).item() + 1, offsets
''',
        lambda r: [[[3, 7, 7, 1], [9], [2, 19, 4]], [[5, 5], [1, 2, 3, 4, 18]]],
    ),
    "policy": Program(
        '''
class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(16, 3)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        action_scores = self.affine2(x)
        return F.softmax(action_scores, dim=1)

def select_action(policy, state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    m = torch.distributions.Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item(), probs, m.entropy(), torch.multinomial(probs, 2).shape

def make():
    return Policy().eval()

def use(model, states):
    torch.manual_seed(1)
    found, made = set(), []
    for state in states:
        action, probs, entropy, shape = select_action(model, state)
        found.add(action)
        made += [probs, entropy, shape]
        assert abs(model.saved_log_probs[-1].exp().item() - probs[0, action].item()) < 1e-5
    assert found <= {0, 1, 2} and len(found) > 1
    assert len(model.saved_log_probs) == len(states)
    del model.saved_log_probs[:]
    return made
''',
        lambda r: [[r.normal(size=(25, 4))]],
    ),
    "tagger": Program(
        '''
from torch_nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

class GRUTagger(nn.Module):
    def __init__(self, vocab, tags):
        super().__init__()
        self.embed = nn.Embedding(vocab, 6, padding_idx=0)
        self.gru = nn.GRU(6, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(10, 4, batch_first=True, bidirectional=True)
        self.out = nn.Linear(8, tags)

    def forward(self, tokens, lengths):
        x = self.embed(tokens)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, h = self.gru(packed)
        y, (h2, c2) = self.lstm(y)
        y, lengths = pad_packed_sequence(y, batch_first=True)
        return self.out(y), h, h2, c2, lengths

def make():
    return GRUTagger(12, 3)

def use(model, *sentences):
    tokens = pad_sequence([torch.tensor(s) for s in sentences], batch_first=True)
    lengths = torch.tensor([len(s) for s in sentences])
    with torch.no_grad():
        scores, h, h2, c2, found = model(tokens, lengths)
    mask = torch.arange(tokens.size(1))[None, :] < lengths[:, None]
    return scores, h, h2, c2, found, tokens, scores.argmax(-1)[mask]
''',
        lambda r: [[[1, 2, 3], [4, 5, 6, 7, 8], [9]], [[3, 11], [4, 10]]],
    ),
    "gcn": Program(
        '''
class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        self.lin.reset_parameters()
        self.bias.data.zero_()

    def forward(self, x, edge_index):
        loops = torch.arange(x.size(0)).unsqueeze(0).repeat(2, 1)
        edge_index = torch.cat([edge_index, loops], dim=1)
        x = self.lin(x)
        row, col = edge_index
        deg = torch.zeros(x.size(0), dtype=x.dtype).scatter_add_(0, col, torch.ones(col.size(0)))
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float('inf')] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        messages = norm.view(-1, 1) * x[row]
        out = torch.zeros_like(x).index_add(0, col, messages)
        return out + self.bias

class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(5, 16)
        self.conv2 = GCNConv(16, 3)

    def forward(self, x, edge_index):
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, training=self.training)
        x = self.conv2(x, edge_index)
        return F.log_softmax(x, dim=1), x.index_select(0, torch.tensor([1, 0]))

def make():
    return GCN()

def use(model, x, edges):
    model.eval()
    edge_index = torch.tensor(edges, dtype=torch.long).t().contiguous()
    out, picked = model(torch.from_numpy(x), edge_index)
    train_mask = torch.zeros(len(x), dtype=torch.bool)
    train_mask[[0, 2]] = True
    return out, picked, out[train_mask], int(train_mask.sum())
''',
        lambda r: [
            [floats(r, 4, 5), [[0, 1], [1, 2], [3, 2], [2, 0]]],
            [floats(r, 6, 5), [[5, 1], [0, 2], [3, 4], [2, 0], [1, 1]]],
        ],
    ),
    "mixture of experts": Program(
        '''
class MoE(nn.Module):
    def __init__(self, dim, num_experts, k):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
                                      for _ in range(num_experts)])
        self.k = k
        self.register_buffer("load", torch.zeros(num_experts))

    def forward(self, x):
        batch, length, dim = x.shape
        x = x.reshape(-1, dim)
        logits = self.gate(x)
        weights, selected = torch.topk(F.softmax(logits, dim=1, dtype=torch.float), self.k)
        weights /= weights.sum(dim=-1, keepdim=True)
        results = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            batch_idx, nth_expert = torch.where(selected == i)
            if len(batch_idx) > 0:
                results[batch_idx] += weights[batch_idx, nth_expert, None] * expert(x[batch_idx])
                self.load[i] += len(batch_idx)
        return results.view(batch, length, dim)

def make():
    return MoE(6, 4, 2)

def use(model, x):
    model.load.zero_()
    first = model(torch.from_numpy(x))
    model(torch.from_numpy(x[:1]))
    return first, model.load, model.load.sum().item()
''',
        lambda r: [[floats(r, 2, 5, 6)], [floats(r, 1, 3, 6)]],
    ),
    "halting": Program(
        '''
class AdaptiveComputation(nn.Module):
    """A recurrent cell that thinks until it is sure."""

    def __init__(self, size, most=8):
        super().__init__()
        self.cell = nn.GRUCell(size, size)
        self.halt = nn.Linear(size, 1)
        self.most = most
        self.calls = 0
        self.steps = []

    def forward(self, x):
        self.calls += 1
        h = torch.zeros_like(x)
        total = torch.zeros(x.shape[0])
        out = torch.zeros_like(h)
        step = 0
        while (total < 0.99).any() and step < self.most:
            h = self.cell(x, h)
            p = torch.sigmoid(self.halt(h)).squeeze(-1)
            p = torch.min(p, 1 - total)
            out = out + p.unsqueeze(-1) * h
            total += p
            step += 1
        self.steps.append(step)
        return out, step

def make():
    return AdaptiveComputation(6)

def use(model, x):
    first = model(torch.from_numpy(x))
    second = model(torch.from_numpy(-x))
    return first, second, model.calls, model.steps
''',
        lambda r: [[floats(r, 3, 6)], [3 * floats(r, 1, 6)]],
    ),
    "dynamic net": Program(
        '''
import random

class DynamicNet(nn.Module):
    def __init__(self, D_in, H, D_out):
        super().__init__()
        self.input_linear = nn.Linear(D_in, H)
        self.middle_linear = nn.Linear(H, H)
        self.output_linear = nn.Linear(H, D_out)

    def forward(self, x):
        h_relu = self.input_linear(x).clamp(min=0)
        for _ in range(random.randint(0, 3)):
            h_relu = self.middle_linear(h_relu).clamp(min=0)
        return self.output_linear(h_relu)

def make():
    return DynamicNet(10, 20, 2)

def use(model, x):
    random.seed(5)
    made = [model(torch.from_numpy(x)) for _ in range(6)]
    assert len({tuple(y[0].tolist()) for y in made}) > 2
    return made
''',
        lambda r: [[floats(r, 1, 10)], [floats(r, 4, 10)]],
    ),
    "library": Program(
        '''
from torch_nn.parameter import Parameter
from torch_utils.checkpoint import checkpoint

torch.backends.cudnn.benchmark = True

@torch.jit.script
def fused_gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.proj = nn.LayerNorm(dim), nn.utils.weight_norm(nn.Linear(dim, dim))
        self.scale = Parameter(torch.full((dim,), 0.5), requires_grad=False)
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long), persistent=False)

    def forward(self, x):
        if torch.jit.is_scripting() or x.dim() != 3:
            raise RuntimeError(f"unexpected shape {x.shape}")
        return x + self.scale * fused_gelu(self.proj(self.norm(x)))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(4) for _ in range(2))
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Sequential(nn.Linear(4, 3), nn.Tanh())})
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.trunc_normal_(module.bias, std=0.02)

    @torch.no_grad()
    def forward(self, x, *, head="a"):
        for block in self.blocks:
            x = checkpoint(block, x)
        return {head: self.heads[head](x), "norm": torch.linalg.norm(x, dim=-1)}

def make():
    return nn.DataParallel(Model())

def use(model, x, y):
    data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    made, losses = [], 0.0
    with torch.inference_mode():
        for inputs, targets in loader:
            inputs = torch.autograd.Variable(inputs).to("cpu", non_blocking=True)
            out = model.module(inputs, head="b")
            losses += F.cross_entropy(out["b"].mean(1), targets).item() * inputs.size(0)
            made += [out["b"], out["norm"], model.module(inputs)["a"].flatten(1)]
    counted = sum(p.numel() for n, p in model.named_parameters() if "bias" not in n)
    try:
        model.module(torch.zeros(2, 4))
    except RuntimeError as error:
        text = str(error)[:16]
    return made, losses / len(data), len(loader), counted, text
''',
        lambda r: [[floats(r, 5, 3, 4), tokens(r, 3, 5)]],
    ),
}
