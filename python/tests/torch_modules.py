"""Modules of PyTorch in the shapes of ordinary libraries, with inputs of several shapes."""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def images(*shapes):
    return lambda: [(torch.randn(*shape),) for shape in shapes]


def ids(most, *shapes):
    return lambda: [(torch.randint(0, most, shape),) for shape in shapes]


MODULES = {}


def module(inputs, **dynamic):
    """Adds a class with its inputs."""

    def add(cls):
        MODULES[cls.__name__] = (cls, inputs)
        return cls

    return add


@module(images((2, 3, 16, 16), (1, 3, 24, 20)))
class ResNet(nn.Module):
    class Bottleneck(nn.Module):
        def __init__(self, inplanes, planes, stride=1, downsample=None):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 1, bias=False), nn.BatchNorm2d(planes)
            self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
            self.conv3, self.bn3 = nn.Conv2d(planes, planes * 2, 1, bias=False), nn.BatchNorm2d(planes * 2)
            self.relu, self.downsample = nn.ReLU(inplace=True), downsample

        def forward(self, x: Tensor) -> Tensor:
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.relu(self.bn2(self.conv2(out)))
            out = self.bn3(self.conv3(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 4, 7, 2, 3, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(True),
            nn.MaxPool2d(3, 2, 1),
        )
        down = nn.Sequential(nn.Conv2d(4, 8, 1, 2, bias=False), nn.BatchNorm2d(8))
        self.layers = nn.Sequential(self.Bottleneck(4, 4, 2, down), self.Bottleneck(8, 4))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(8, 5)

    def forward(self, x):
        x = self.layers(self.stem(x))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


@module(images((2, 3, 16, 16), (1, 3, 12, 20)))
class MobileNetV3(nn.Module):
    class Squeeze(nn.Module):
        def __init__(self, channels, squeezed):
            super().__init__()
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
            self.activation, self.scale_activation = nn.ReLU(), nn.Hardsigmoid()

        def forward(self, input):
            scale = self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input)))))
            return scale * input

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), nn.Conv2d(8, 8, 5, 1, 2, groups=8, bias=False), nn.BatchNorm2d(8),
            nn.Hardswish(inplace=True), self.Squeeze(8, 4), nn.Conv2d(8, 6, 1), nn.ReLU6(),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Linear(6, 10),
            nn.Hardswish(),
            nn.Dropout(0.2, inplace=True),
            nn.Linear(10, 4),
        )

    def forward(self, x):
        x = self.features(x).mean([2, 3])
        return self.classifier(x)


@module(images((2, 3, 16, 16), (3, 3, 8, 12)))
class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand, self.depth = nn.Conv2d(3, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.se1, self.se2, self.project = nn.Conv2d(12, 3, 1), nn.Conv2d(3, 12, 1), nn.Conv2d(12, 3, 1)
        self.bn = nn.BatchNorm2d(12, eps=1e-3, momentum=0.01)
        self.rate = 0.2

    def forward(self, x):
        y = F.silu(self.bn(self.depth(F.silu(self.expand(x)))), inplace=True)
        s = F.adaptive_avg_pool2d(y, 1)
        y = y * torch.sigmoid(self.se2(F.silu(self.se1(s))))
        y = self.project(y)
        if self.training and self.rate > 0:
            keep = torch.rand(x.shape[0], 1, 1, 1) > self.rate
            y = y * keep
        return y + x


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.act, self.fc2, self.drop = (
            nn.Linear(dim, hidden),
            nn.GELU(),
            nn.Linear(hidden, dim),
            nn.Dropout(0.1),
        )

    def forward(self, x):
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


@module(images((2, 3, 16, 16), (1, 3, 16, 16)))
class ViT(nn.Module):
    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.num_heads, self.scale = heads, (dim // heads) ** -0.5
            self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)

        def forward(self, x):
            B, N, C = x.shape
            qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
            q, k, v = qkv[0], qkv[1], qkv[2]
            attn = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
            return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.cls_token, self.pos_embed = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 17, 8))
        self.norm1, self.attn, self.norm2, self.mlp = nn.LayerNorm(8), self.Attention(8, 2), nn.LayerNorm(8), Mlp(8, 16)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


@module(images((2, 3, 16, 16), (1, 3, 8, 24)))
class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.dwconv, self.norm = (
            nn.Conv2d(3, 8, 4, 4),
            nn.Conv2d(8, 8, 7, padding=3, groups=8),
            nn.LayerNorm(8, eps=1e-6),
        )
        self.pw1, self.pw2 = nn.Linear(8, 32), nn.Linear(32, 8)
        self.gamma = nn.Parameter(1e-1 * torch.ones(8))

    def forward(self, x):
        x = self.stem(x)
        y = self.dwconv(x).permute(0, 2, 3, 1)
        y = self.gamma * self.pw2(F.gelu(self.pw1(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


@module(images((2, 3, 16, 16), (1, 3, 10, 14)))
class DenseNet(nn.Module):
    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.conv1 = nn.BatchNorm2d(width), nn.Conv2d(width, 4, 3, padding=1, bias=False)

        def forward(self, features: List[Tensor]) -> Tensor:
            return self.conv1(F.relu(self.norm1(torch.cat(features, 1)), inplace=True))

    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 4, 3, padding=1)
        self.layers = nn.ModuleList([self.Layer(4 + 4 * i) for i in range(3)])
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        features = [self.conv0(x)]
        for layer in self.layers:
            features.append(layer(features))
        y = F.adaptive_avg_pool2d(F.relu(torch.cat(features, 1), inplace=True), (1, 1))
        return self.out(torch.flatten(y, 1))


@module(images((1, 3, 13, 18), (2, 3, 16, 12)))
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc, self.down, self.bottom = (
            nn.Conv2d(3, 4, 3, padding=1),
            nn.Conv2d(4, 8, 3, padding=1),
            nn.Conv2d(8, 8, 3, padding=1),
        )
        self.up, self.merge, self.out = (
            nn.ConvTranspose2d(8, 4, 2, 2),
            nn.Conv2d(8, 4, 3, padding=1),
            nn.Conv2d(4, 2, 1),
        )

    def forward(self, x):
        x1 = F.relu(self.inc(x))
        x2 = F.relu(self.bottom(F.relu(self.down(F.max_pool2d(x1, 2)))))
        y = self.up(x2)
        dy, dx = x1.size(2) - y.size(2), x1.size(3) - y.size(3)
        y = F.pad(y, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.out(F.relu(self.merge(torch.cat([x1, y], dim=1))))


@module(images((1, 3, 16, 16), (2, 3, 24, 16)))
class DeepLab(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3, 2, 1)
        self.convs = nn.ModuleList([nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 3, padding=2, dilation=2)])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU())
        self.project = nn.Conv2d(12, 3, 1)

    def forward(self, x) -> Dict[str, Tensor]:
        shape = x.shape[-2:]
        f = self.body(x)
        parts: List[Tensor] = []
        for conv in self.convs:
            parts.append(F.relu(conv(f)))
        parts.append(F.interpolate(self.pool(f), size=f.shape[-2:], mode="bilinear", align_corners=False))
        y = F.interpolate(self.project(torch.cat(parts, 1)), size=shape, mode="bilinear", align_corners=False)
        return {"out": y}


@module(ids(20, (2, 6), (1, 9)))
class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.position, self.kind = (
            nn.Embedding(20, 8, padding_idx=0),
            nn.Embedding(16, 8),
            nn.Embedding(2, 8),
        )
        self.register_buffer("position_ids", torch.arange(16).expand((1, -1)))
        self.norm, self.q, self.k, self.v, self.dense = nn.LayerNorm(8), *(nn.Linear(8, 8) for _ in range(4))
        self.norm2, self.mlp, self.pooler = nn.LayerNorm(8), Mlp(8, 16), nn.Linear(8, 8)

    def split(self, x: Tensor) -> Tensor:
        x = x.view(x.size()[:-1] + (2, 4))
        return x.permute(0, 2, 1, 3)

    def forward(self, input_ids: Tensor) -> Tuple[Tensor, Tensor]:
        mask = (input_ids != 0).float()
        extended = (1.0 - mask[:, None, None, :]) * -10000.0
        length = input_ids.size(1)
        e = self.word(input_ids) + self.position(self.position_ids[:, :length]) + self.kind(torch.zeros_like(input_ids))
        h = self.norm(e)
        scores = torch.matmul(self.split(self.q(h)), self.split(self.k(h)).transpose(-1, -2)) / math.sqrt(4)
        context = torch.matmul(F.softmax(scores + extended, dim=-1), self.split(self.v(h)))
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(context.size(0), length, 8)
        h = self.norm2(self.mlp(self.dense(context) + h))
        return h, torch.tanh(self.pooler(h[:, 0]))


@module(ids(20, (2, 6), (1, 9)))
class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.ln, self.attn, self.proj, self.ln2, self.mlp = (
            nn.LayerNorm(8),
            nn.Linear(8, 24),
            nn.Linear(8, 8),
            nn.LayerNorm(8),
            Mlp(8, 32),
        )
        self.register_buffer("bias", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, idx):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.wte(idx) + self.wpe(pos)
        q, k, v = self.attn(self.ln(x)).split(8, dim=2)
        k = k.view(b, t, 2, 4).transpose(1, 2)
        q = q.view(b, t, 2, 4).transpose(1, 2)
        v = v.view(b, t, 2, 4).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = (F.softmax(att, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, 8)
        x = x + self.proj(y)
        x = x + self.mlp(self.ln2(x))
        return x @ self.wte.weight.t()


@module(ids(20, (2, 6), (1, 9)))
class T5(nn.Module):
    class Norm(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(size))

        def forward(self, hidden):
            variance = hidden.to(torch.float32).pow(2).mean(-1, keepdim=True)
            return self.weight * (hidden * torch.rsqrt(variance + 1e-6))

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.rel = nn.Embedding(20, 8), self.Norm(8), nn.Embedding(8, 2)
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8, bias=False) for _ in range(4))

    def buckets(self, relative: Tensor) -> Tensor:
        found = (relative > 0).to(torch.long) * 4
        n = torch.abs(relative)
        large = 2 + (torch.log(n.float() / 2 + 1e-6) / math.log(8) * 2).to(torch.long)
        large = torch.min(large, torch.full_like(large, 3))
        return found + torch.where(n < 2, n, large)

    def forward(self, tokens):
        x = self.norm(self.embed(tokens))
        b, t, c = x.shape
        q, k, v = [p.view(b, t, 2, 4).transpose(1, 2) for p in (self.q(x), self.k(x), self.v(x))]
        at = torch.arange(t, dtype=torch.long)
        bias = self.rel(self.buckets(at[None, :] - at[:, None])).permute([2, 0, 1]).unsqueeze(0)
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += bias
        y = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(scores), v)
        return x + self.o(y.transpose(1, 2).contiguous().view(b, -1, 8))


@module(ids(20, (2, 6), (1, 5)))
class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.weight = nn.Embedding(20, 8), nn.Parameter(torch.rand(8))
        self.wq, self.wk, self.wv, self.wo = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4), nn.Linear(8, 8)
        self.w1, self.w2, self.w3 = nn.Linear(8, 12), nn.Linear(12, 8), nn.Linear(8, 12)
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4)))

    def norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

    def rotate(self, x: Tensor) -> Tensor:
        t = torch.arange(x.shape[-2], dtype=torch.float)
        freqs = torch.outer(t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x[..., :2], x[..., 2:]
        return x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()

    def forward(self, tokens):
        h = self.embed(tokens)
        b, t, _ = h.shape
        x = self.norm(h)
        q = self.rotate(self.wq(x).view(b, t, 2, 4).transpose(1, 2))
        k = self.rotate(self.wk(x).view(b, t, 1, 4).transpose(1, 2))
        v = self.wv(x).view(b, t, 1, 4).transpose(1, 2)
        k, v = k.repeat_interleave(2, dim=1), v[:, :, None].expand(b, 1, 2, t, 4).reshape(b, 2, t, 4)
        mask = torch.full((t, t), float("-inf")).triu(1)
        y = F.softmax(q @ k.transpose(-1, -2) / 2 + mask, dim=-1) @ v
        h = h + self.wo(y.transpose(1, 2).reshape(b, t, 8))
        x = self.norm(h)
        return h + self.w2(F.silu(self.w1(x)) * self.w3(x))


@module(images((2, 1, 20, 8), (1, 1, 33, 8)))
class DeepSpeech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 4, (5, 3), (2, 2), (2, 1)),
            nn.BatchNorm2d(4),
            nn.Hardtanh(0, 20, inplace=True),
        )
        self.rnn, self.fc = nn.GRU(16, 6, 2, bidirectional=True, batch_first=True), nn.Linear(12, 5)

    def forward(self, x):
        x = self.conv(x)
        b, c, t, f = x.size()
        x = x.permute(0, 2, 1, 3).contiguous().view(b, t, c * f)
        y, _ = self.rnn(x)
        return F.log_softmax(self.fc(y), dim=-1)


@module(images((2, 1, 50), (1, 1, 81)))
class Wav2Vec(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0, self.norm0, self.conv1 = (
            nn.Conv1d(1, 6, 5, 2, bias=False),
            nn.GroupNorm(6, 6),
            nn.Conv1d(6, 6, 3, 2),
        )
        self.pos = nn.Conv1d(6, 6, 4, padding=2, groups=2)
        self.layer = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True, activation="gelu")

    def forward(self, x):
        x = F.gelu(self.conv1(F.gelu(self.norm0(self.conv0(x)))))
        x = x + F.gelu(self.pos(x)[:, :, :-1])
        return self.layer(x.transpose(1, 2))


@module(images((2, 6, 30), (1, 6, 17)))
class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.dilated = nn.ModuleList([nn.Conv1d(6, 12, 2, dilation=2**i) for i in range(3)])
        self.skips = nn.ModuleList([nn.Conv1d(6, 4, 1) for _ in range(3)])

    def forward(self, x):
        total = torch.zeros(1)
        for i, (conv, skip) in enumerate(zip(self.dilated, self.skips)):
            y = conv(F.pad(x, (2**i, 0)))
            a, b = y.chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(x)
        return F.elu(total), x[..., -1]


@module(lambda: [(torch.randn(3, 7, 4), torch.tensor([7, 4, 2])), (torch.randn(2, 5, 4), torch.tensor([3, 5]))])
class PackedTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(4, 5, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, _ = self.lstm(packed)
        y, n = pad_packed_sequence(y, batch_first=True)
        return self.out(y)


@module(images((4, 2, 3), (7, 1, 3)))
class UnrolledCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        h, c = torch.zeros(x.size(1), 4), torch.zeros(x.size(1), 4)
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (h, c))
        return self.out(h), c


@module(images((3, 4), (1, 4), (6, 4)))
class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.first(x)
        if y.sum() > 0:
            return torch.relu(y)
        return self.second(torch.tanh(y)) - 1


@module(lambda: [(4 * torch.randn(2, 3),), (0.1 * torch.randn(4, 3),)])
class Halving(nn.Module):
    def forward(self, x):
        steps = torch.zeros(1)
        while bool(x.abs().max() > 0.5):
            x = x / 2
            steps = steps + 1
        return x, steps


@module(lambda: [(torch.randn(2, 5), torch.tensor(3)), (torch.randn(3, 5), torch.tensor(0))])
class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)

    def forward(self, x, n: Tensor):
        for i in range(int(n)):
            x = torch.tanh(self.linear(x)) + i
        return x


@module(lambda: [(torch.randn(2, 4, 3),), (torch.randn(1, 6, 3),)])
class Decaying(nn.Module):
    """A scan over the length with a branch in the body."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 1)

    def forward(self, x):
        state = torch.zeros(x.size(0), x.size(2))
        for t in range(x.size(1)):
            g = torch.sigmoid(self.gate(x[:, t]))
            if g.mean() > 0.5:
                state = state * g + x[:, t]
            else:
                state = state + (1 - g) * x[:, t]
        return state


@module(lambda: [(torch.randn(1, 4), 3), (torch.randn(2, 4), 3)])
class GreedyDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(7, 4), nn.GRUCell(4, 4), nn.Linear(4, 7)

    def forward(self, h, steps: int):
        token = torch.zeros(h.size(0), dtype=torch.long)
        found: List[Tensor] = []
        for _ in range(steps):
            h = self.cell(self.embed(token), h)
            token = self.out(h).argmax(-1)
            found.append(token)
        return torch.stack(found, 1), h


@module(lambda: [(torch.randn(3, 10), torch.randn(3)), (torch.randn(2, 6), torch.randn(2))])
class BeamStep(nn.Module):
    def forward(self, logits, scores):
        beams, vocabulary = logits.shape
        total = scores.unsqueeze(1) + F.log_softmax(logits, dim=-1)
        best, flat = total.view(-1).topk(2)
        beam = torch.div(flat, vocabulary, rounding_mode="floor")
        return best, beam, flat % vocabulary, logits.index_select(0, beam)


@module(images((1, 8, 5, 6), (2, 8, 4, 4)))
class DetectionHead(nn.Module):
    """Anchors of a grid, and boxes of them."""

    def __init__(self):
        super().__init__()
        self.cls, self.box = nn.Conv2d(8, 3 * 2, 3, padding=1), nn.Conv2d(8, 4 * 2, 3, padding=1)
        self.register_buffer("sizes", torch.tensor([[4.0, 8.0], [8.0, 4.0]]))

    def forward(self, x):
        n, _, h, w = x.shape
        scores = self.cls(x).view(n, 2, 3, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 3)
        deltas = self.box(x).view(n, 2, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centers = torch.stack((xs, ys), -1).reshape(-1, 1, 2).expand(-1, 2, 2).reshape(-1, 2).float() * 8 + 4
        sizes = self.sizes.repeat(h * w, 1)
        cxy = centers + deltas[..., :2] * sizes
        wh = sizes * torch.exp(deltas[..., 2:].clamp(max=4.0))
        boxes = torch.cat([cxy - wh / 2, cxy + wh / 2], -1).clamp(min=0)
        return boxes, scores.sigmoid().max(-1)[0], scores.argmax(dim=-1)


@module(lambda: [(torch.rand(6, 4) * 10, torch.rand(6)), (torch.rand(4, 4) * 10, torch.rand(4))])
class Suppression(nn.Module):
    """Non-maximum suppression by a loop."""

    def forward(self, boxes, scores):
        order = scores.argsort(descending=True)
        boxes = boxes[order]
        lt, rb = torch.max(boxes[:, None, :2], boxes[None, :, :2]), torch.min(boxes[:, None, 2:], boxes[None, :, 2:])
        inter = (rb - lt).clamp(min=0).prod(-1)
        area = (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(-1)
        iou = inter / (area[:, None] + area[None] - inter + 1e-6)
        keep = torch.ones(boxes.size(0), dtype=torch.bool)
        for i in range(boxes.size(0)):
            later = torch.arange(boxes.size(0)) > i
            keep = keep & ~((iou[i] > 0.3) & later & keep[i])
        return order[keep], keep.sum()


@module(images((2, 4, 6, 6), (1, 4, 8, 4)))
class Swin(nn.Module):
    """Windows, shifted, and attention in them."""

    def __init__(self):
        super().__init__()
        self.qkv, self.proj, self.norm = nn.Linear(4, 12), nn.Linear(4, 4), nn.LayerNorm(4)
        self.table = nn.Parameter(torch.randn(9, 2))
        at = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij")).flatten(1)
        relative = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + 1
        self.register_buffer("index", relative[..., 0] * 3 + relative[..., 1])

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        y = torch.roll(self.norm(x), shifts=(-1, -1), dims=(1, 2))
        y = y.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, c)
        q, k, v = self.qkv(y).reshape(-1, 4, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        y = ((q @ k.transpose(-2, -1) + bias).softmax(-1) @ v).transpose(1, 2).reshape(-1, 4, c)
        y = self.proj(y).view(b, h // 2, w // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return x + torch.roll(y, shifts=(1, 1), dims=(1, 2))


def graphs():
    edges = torch.tensor([[0, 1, 2, 4], [1, 2, 3, 0]]), torch.tensor([[0, 1], [1, 0]])
    return [(torch.randn(5, 3), edges[0]), (torch.randn(3, 3), edges[1])]


@module(graphs)
class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(6, 4), nn.GRUCell(4, 3)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        m = F.relu(self.message(torch.cat([x[source], x[target]], -1)))
        total = torch.zeros(x.size(0), 4).index_add_(0, target, m)
        count = torch.zeros(x.size(0)).scatter_add_(0, target, torch.ones_like(target, dtype=torch.float))
        return self.update(total / count.clamp(min=1).unsqueeze(-1), x)


@module(images((2, 5, 6), (1, 7, 6)))
class MixtureOfExperts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])

    def forward(self, x):
        weights, chosen = torch.topk(F.softmax(self.gate(x), dim=-1), 2, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            w = torch.where(chosen == i, weights, torch.zeros_like(weights)).sum(-1, keepdim=True)
            if (w > 0).any():
                out = out + w * expert(x)
        return out


@module(lambda: [(torch.randn(2, 3, 6, 6), None), (torch.randn(2, 3, 6, 6), torch.randn(2, 5))])
class Conditioned(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.film = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(5, 8)

    def forward(self, x, c: Optional[Tensor] = None):
        y = self.conv(x)
        if c is not None:
            scale, shift = self.film(c).chunk(2, dim=-1)
            y = y * (1 + scale[:, :, None, None]) + shift[:, :, None, None]
        assert y.dim() == 4, "pictures"
        return F.silu(y)


@module(lambda: [(torch.randn(2, 4, 6), torch.tensor(2.0)), (torch.randn(1, 4, 6), torch.tensor(0.5))])
class Perceiver(nn.Module):
    """Cross attention of learnt queries, with a temperature."""

    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(3, 6))
        self.attend, self.norm = nn.MultiheadAttention(6, 2, batch_first=True), nn.LayerNorm(6)

    def forward(self, x, temperature):
        q = self.latents.unsqueeze(0).expand(x.size(0), -1, -1) / temperature
        y, weights = self.attend(q, x, x)
        return self.norm(q + y), weights


@module(lambda: [(torch.randn(2, 3, 8, 8),), (torch.randn(1, 3, 5, 9),)])
class Checked(nn.Module):
    """Checks of shapes, defaults by shape and a helper in the class."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    @staticmethod
    def crop(x: Tensor, size: int) -> Tensor:
        h, w = x.shape[-2:]
        if h < size or w < size:
            raise ValueError("too small")
        return x[..., (h - size) // 2 : (h - size) // 2 + size, (w - size) // 2 : (w - size) // 2 + size]

    def forward(self, x):
        if x.dim() == 3:
            x = x.unsqueeze(0)
        if x.size(1) != 3:
            raise ValueError("three channels")
        y = self.crop(self.conv(x), 4)
        return y.flatten(1).mean(dim=1), y.std(dim=(2, 3))


@module(images((2, 4, 3), (1, 7, 3)))
class Collected(nn.Module):
    """Lists that grow over the length of a sequence."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = torch.zeros(x.size(0), 4)
        states: List[Tensor] = []
        scores: List[Tensor] = [torch.zeros(x.size(0), 1, 2)]
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            states.append(h)
            scores.append(self.out(h).unsqueeze(1))
            scores.append(-self.out(h).unsqueeze(1))
        return torch.stack(states, dim=1), torch.cat(scores, 1), states[-1], len(scores) * torch.ones(1)


@module(images((3, 2, 4), (6, 1, 4)))
class Bidirectional(nn.Module):
    """A loop forwards and one backwards, with a stop on a value."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(4, 4)

    def forward(self, x):
        h = torch.zeros_like(x[0])
        ahead: List[Tensor] = []
        for t in range(x.shape[0]):
            h = torch.tanh(self.w(x[t]) + h)
            ahead.append(h)
        back: List[Tensor] = []
        for t in range(x.shape[0] - 1, -1, -1):
            h = torch.tanh(self.w(x[t]) - h)
            back.append(h)
        steps = 0
        while bool((h.abs() > 0.05).any()) and steps < 5:
            h = h * 0.5
            steps += 1
        return torch.stack(ahead), torch.stack(back).flip(0), h
