// Keys of items as people type them.

// parseKey reads an object such as {"id":{"S":"7"}}, or id=7 with id:N=7 for a number, id:B=... for
// bytes in base64, and a comma before another attribute.
export function parseKey(text) {
  text = text.trim();
  if (text.startsWith('{')) return JSON.parse(text);
  const key = {};
  for (const part of text.split(',')) {
    const m = /^([^=:]+)(?::([SNB]))?=(.*)$/.exec(part.trim());
    if (!m) throw new Error(`${part} is not NAME=VALUE, NAME:N=VALUE or NAME:B=VALUE`);
    key[m[1]] = { [m[2] ?? 'S']: m[3] };
  }
  return key;
}
