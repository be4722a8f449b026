// IPv4 and IPv6 addresses as whole numbers: RFC 4632, RFC 4291, written as RFC 5952 asks for.
const { address, contains, split } = input;
const invalid = (message) => Object.assign(new Error(message), { code: "EINVAL" });
// The special blocks of RFC 6890 and its successors that people meet.
const KINDS = [
  ["private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"], ["loopback", "127.0.0.0/8 ::1/128"], ["link-local", "169.254.0.0/16 fe80::/10"],
  ["multicast", "224.0.0.0/4 ff00::/8"], ["shared (carrier-grade NAT)", "100.64.0.0/10"], ["broadcast", "255.255.255.255/32"],
  ["documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32"], ["unspecified", "0.0.0.0/32 ::/128"], ["reserved", "240.0.0.0/4 0.0.0.0/8"],
];

const bitsOf = (version) => (version === 4 ? 32 : 128);

function four(text) {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (!parts || parts.some((part) => part > 255 || /^0\d/.test(part))) return undefined;
  return parts.reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function six(text) {
  const [, head, tail] = /^([\da-f:]*:)(\d+\.\d+\.\d+\.\d+)$/i.exec(text) ?? [], last = tail && four(tail);
  if (tail && last === undefined) return undefined;
  const plain = tail ? `${head}${(last >> 16n).toString(16)}:${(last & 0xffffn).toString(16)}` : text, halves = plain.split("::");
  if (halves.length > 2) return undefined;
  const [left, right = []] = halves.map((half) => (half ? half.split(":") : [])), missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...left, ...Array(Math.max(0, missing)).fill("0"), ...right];
  return groups.every((group) => /^[\da-f]{1,4}$/i.test(group)) ? groups.reduce((value, group) => value * 65536n + BigInt(`0x${group}`), 0n) : undefined;
}

function read(text, name) {
  const plain = text.trim(), version = plain.includes(":") ? 6 : 4, value = version === 4 ? four(plain) : six(plain);
  if (value === undefined) throw invalid(`${name}: ${JSON.stringify(text.slice(0, 60).toWellFormed())} is no IP address: write 192.168.1.10 or 2001:db8::1`);
  return { version, value };
}

function written({ version, value }) {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - i * 16)) & 0xffffn).toString(16)), plain = groups.join(":");
  const runs = [...plain.matchAll(/\b0(?::0\b)+/g)].sort((a, b) => b[0].length - a[0].length); // the first of the longest runs of zeros
  if (!runs.length) return plain;
  const { index, 0: run } = runs[0];
  return `${plain.slice(0, index).replace(/:$/, "")}::${plain.slice(index + run.length).replace(/^:/, "")}`;
}

// The length of the prefix in 24, in 255.255.255.0 and in the wildcard 0.0.0.255.
function prefixOf(text, version) {
  const bits = bitsOf(version);
  if (/^\d{1,3}$/.test(text) && text <= bits) return Number(text);
  const mask = version === 4 ? four(text) : undefined, whole = 2n ** 32n - 1n;
  for (let prefix = 0; mask !== undefined && prefix <= 32; prefix++) {
    const wanted = whole ^ (whole >> BigInt(prefix));
    if (mask === wanted || (mask === (wanted ^ whole) && mask !== 0n)) return prefix;
  }
  throw invalid(`${JSON.stringify(text)} is no prefix: write 0 to ${bits}${version === 4 ? ", or a mask such as 255.255.255.0" : ""}`);
}

function networkOf(text, name) {
  const [host, mask, ...more] = text.trim().split(/\s*\/\s*|\s+/), { version, value } = read(host, name);
  if (more.length) throw invalid(`${name}: write one address and one prefix: 192.168.1.10/24`);
  const bits = bitsOf(version), prefix = mask === undefined ? bits : prefixOf(mask, version), size = 2n ** BigInt(bits - prefix);
  const first = value - (value % size);
  return { version, value, prefix, size, first, last: first + size - 1n };
}

const holds = (net, one) => net.version === one.version && one.first >= net.first && one.last <= net.last;
const number = (value) => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value));
const kindOf = (net) => KINDS.find(([, blocks]) => blocks.split(" ").some((block) => holds(networkOf(block, ""), net)))?.[0] ?? "public";

function parts(net) {
  const longest = bitsOf(net.version);
  if (split < net.prefix || split > longest) throw invalid(`split is ${net.prefix} to ${longest}: the prefix of the parts`);
  if (split - net.prefix > 10) throw invalid("at most 1,024 parts: take a smaller split");
  const step = 2n ** BigInt(longest - split);
  return Array.from({ length: 2 ** (split - net.prefix) }, (_, i) => `${written({ ...net, value: net.first + BigInt(i) * step })}/${split}`);
}

const net = networkOf(address, "address"), isWide = net.version === 4 && net.prefix < 31, show = (value) => written({ ...net, value });
const mask = 2n ** BigInt(bitsOf(net.version)) - net.size;
return {
  version: net.version, address: show(net.value), network: `${show(net.first)}/${net.prefix}`, kind: kindOf(net),
  ...(net.version === 4 ? { netmask: show(mask), wildcard: show(net.size - 1n) } : {}), ...(isWide ? { broadcast: show(net.last) } : {}),
  first_host: show(isWide ? net.first + 1n : net.first), last_host: show(isWide ? net.last - 1n : net.last), hosts: number(isWide ? net.size - 2n : net.size), addresses: number(net.size),
  ...(contains === undefined ? {} : { contains: holds(net, networkOf(contains, "contains")) }), ...(split === undefined ? {} : { subnets: parts(net) }),
};
