"""Programs on images as PyTorch's tutorials write them; see torch_programs.py."""

from __future__ import annotations

import numpy as np

from torch_program import Program, floats, tokens

PROGRAMS = {
    "cnn": Program(
        '''
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.conv2 = nn.Conv2d(4, 6, 5)
        self.fc1 = nn.Linear(6 * 4 * 4, 20)
        self.fc2 = nn.Linear(20, 10)
        self.drop = nn.Dropout2d()

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.drop(self.conv2(x))), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features

def make():
    return Net()

def use(model, x, target):
    with torch.no_grad():
        output = model(torch.tensor(x))
    target = torch.tensor(target)
    loss = F.nll_loss(output, target, reduction="sum").item()
    pred = output.argmax(dim=1, keepdim=True)
    return output, loss, pred.eq(target.view_as(pred)).sum().item(), nn.CrossEntropyLoss()(output, target)
''',
        lambda r: [[floats(r, 3, 1, 28, 28), tokens(r, 10, 3)], [floats(r, 1, 1, 28, 28), tokens(r, 10, 1)]],
    ),
    "vae": Program(
        '''
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 40)
        self.fc21 = nn.Linear(40, 6)
        self.fc22 = nn.Linear(40, 6)
        self.fc3 = nn.Linear(6, 40)
        self.fc4 = nn.Linear(40, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar

def make():
    return VAE()

def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD

def use(model, x, z):
    x, z = torch.from_numpy(x), torch.from_numpy(z)
    with torch.no_grad():
        first, mu, logvar = model(x)
        second, _, _ = model(x)
        assert not torch.equal(first, second), "noise is drawn in each call"
        decoded = model.decode(z).cpu()
        return mu, logvar, decoded.view(len(z), 1, 28, 28), loss_function(decoded, x, mu, logvar)
''',
        lambda r: [[r.random((2, 1, 28, 28)).astype(np.float32), floats(r, 2, 6)]],
    ),
    "gan": Program(
        '''
class Generator(nn.Module):
    def __init__(self, nz, ngf, nc):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh()
        )

    def forward(self, input):
        return self.main(input)

def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)

def make():
    torch.manual_seed(999)
    netG = Generator(7, 3, 2)
    netG.apply(weights_init)
    assert abs(netG.main[1].weight.mean().item() - 1) < 0.1
    return netG.eval()

def use(model, noise):
    fixed_noise = torch.randn(4, 7, 1, 1)
    assert fixed_noise.shape == (4, 7, 1, 1) and fixed_noise.std().item() > 0.3
    with torch.no_grad():
        fake = model(torch.from_numpy(noise)).detach().cpu()
    return fake, (fake.mul(0.5).add(0.5) * 255).clamp(0, 255).to(torch.uint8), fake.size(), fake.min() >= -1
''',
        lambda r: [[floats(r, 3, 7, 1, 1)]],
    ),
    "resnet": Program(
        '''
def conv3x3(in_channels, out_channels, stride=1):
    return nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)

class ResidualBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(in_channels, out_channels, stride)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(out_channels, out_channels)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample:
            residual = self.downsample(x)
        out += residual
        out = self.relu(out)
        return out

class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=10):
        super().__init__()
        self.in_channels = 4
        self.conv = conv3x3(3, 4)
        self.bn = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self.make_layer(block, 4, layers[0])
        self.layer2 = self.make_layer(block, 8, layers[1], 2)
        self.avg_pool = nn.AvgPool2d(8)
        self.fc = nn.Linear(8, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)

    def make_layer(self, block, out_channels, blocks, stride=1):
        downsample = None
        if (stride != 1) or (self.in_channels != out_channels):
            downsample = nn.Sequential(
                conv3x3(self.in_channels, out_channels, stride=stride), nn.BatchNorm2d(out_channels))
        layers = []
        layers.append(block(self.in_channels, out_channels, stride, downsample))
        self.in_channels = out_channels
        for i in range(1, blocks):
            layers.append(block(out_channels, out_channels))
        return nn.Sequential(*layers)

    def forward(self, x):
        out = self.conv(x)
        out = self.bn(out)
        out = self.relu(out)
        out = self.layer1(out)
        out = self.layer2(out)
        out = self.avg_pool(out)
        out = out.view(out.size(0), -1)
        return self.fc(out)

def make():
    return ResNet(ResidualBlock, [2, 2])

def use(model, images):
    total = sum(p.numel() for p in model.parameters() if p.requires_grad is not None)
    outputs = model.eval()(torch.from_numpy(images))
    _, predicted = torch.max(outputs.data, 1)
    return outputs, predicted, total
''',
        lambda r: [[floats(r, 2, 3, 16, 16)], [floats(r, 1, 3, 16, 16)]],
    ),
    "u-net": Program(
        '''
class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels), nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.double_conv(x)

class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        x = torch.cat([x2, x1], dim=1)
        return self.conv(x)

class UNet(nn.Module):
    def __init__(self, bilinear):
        super().__init__()
        self.inc = DoubleConv(3, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        factor = 2 if bilinear else 1
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16 // factor))
        self.up1 = Up(16, 8 // factor, bilinear)
        self.up2 = Up(8, 4, bilinear)
        self.outc = nn.Conv2d(4, 2, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up1(x3, x2)
        x = self.up2(x, x1)
        return self.outc(x)

def make():
    return nn.ModuleDict({"bilinear": UNet(True), "learnt": UNet(False)})

def use(model, image):
    image = torch.as_tensor(image, dtype=torch.float32)
    made = []
    for name, net in model.items():
        mask = net.eval()(image)
        made += [mask, (torch.sigmoid(mask) > 0.5).squeeze().long(), mask.argmax(dim=1)]
    return made
''',
        lambda r: [[floats(r, 1, 3, 13, 18)], [floats(r, 2, 3, 16, 12)]],
    ),
    "siamese": Program(
        '''
class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(2 * 4 * 5 * 5, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.cnn.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.cnn(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output1 = self.forward_once(input1)
        output2 = self.forward_once(input2)
        output = torch.cat((output1, output2), 1)
        return self.sigmoid(self.fc(output)), F.pairwise_distance(output1, output2, keepdim=True)

def make():
    return SiameseNetwork()

def use(model, a, b):
    similar, distance = model(torch.from_numpy(a), torch.from_numpy(b))
    label = torch.tensor([1.0, 0.0, 1.0]).unsqueeze(1)[: len(similar)]
    loss = torch.mean((1 - label) * torch.pow(distance, 2)
                      + label * torch.pow(torch.clamp(2.0 - distance, min=0.0), 2))
    cosine = nn.CosineSimilarity(dim=1)(torch.from_numpy(a).flatten(1), torch.from_numpy(b).flatten(1))
    bce = nn.BCELoss()(similar, label)
    return similar, distance, loss, cosine, bce, torch.where(similar > 0.5, 1, 0)
''',
        lambda r: [[floats(r, n, 1, 12, 12), floats(r, n, 1, 12, 12)] for n in (3, 1)],
    ),
    "spatial transformer": Program(
        '''
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 3, kernel_size=5)
        self.fc1 = nn.Linear(3 * 12 * 12, 10)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=7), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
            nn.Conv2d(4, 5, kernel_size=5), nn.MaxPool2d(2, stride=2), nn.ReLU(True)
        )
        self.fc_loc = nn.Sequential(nn.Linear(5 * 3 * 3, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 5 * 3 * 3)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        y = F.relu(F.max_pool2d(self.conv1(x), 2))
        return x, F.log_softmax(self.fc1(y.view(-1, 3 * 12 * 12)), dim=1)

def make():
    return Net()

def use(model, x):
    x = torch.from_numpy(x)
    straight = model(x)[0]
    assert torch.allclose(straight, x, atol=1e-5)
    model.fc_loc[2].bias.data.copy_(torch.tensor([0.8, 0.3, 0.1, -0.2, 0.9, 0.05]))
    made = model(x)
    model.fc_loc[2].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
    return made
''',
        lambda r: [[floats(r, 2, 1, 28, 28)]],
    ),
}
