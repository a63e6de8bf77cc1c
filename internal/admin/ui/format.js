// Numbers, times and names as texts.

const si = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];

// count abbreviates large numbers.
export function count(n) {
  for (const [size, unit] of si) {
    if (n >= size) return (n / (unit === 'k' ? 1e3 : size)).toPrecision(3) + unit;
  }
  return String(n);
}

// rate is a number per second.
export function rate(n) {
  if (n === 0) return '0';
  return n < 9.95 ? n.toPrecision(2).replace(/\.0$/, '') : count(Math.round(n));
}

// percent is a share; a dash without one.
export function percent(share) {
  return share == null ? '–' : (share * 100).toFixed(1) + ' %';
}

// duration is a time in seconds with a unit; a dash without one.
export function duration(seconds) {
  if (seconds == null) return '–';
  for (const [size, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']]) {
    if (seconds >= size) return Number((seconds / size).toPrecision(3)) + ' ' + unit;
  }
  return seconds === 0 ? '0 s' : Math.round(seconds * 1e9) + ' ns';
}

// age is a longer time, in days, hours and minutes.
export function age(seconds) {
  const s = Math.max(0, Math.round(seconds)), d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  return m > 0 ? `${m} min ${s % 60} s` : `${s} s`;
}

export function bytes(n) {
  for (const [size, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
    if (n >= size) return (n / size).toFixed(1) + ' ' + unit;
  }
  return n + ' B';
}

// clock is the time of day of a moment.
export function clock(time) {
  return new Date(time).toTimeString().slice(0, 8);
}

// shell quotes a text as one word of a shell command.
export function shell(text) {
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

// term is a term of a filter of the log, for exactly this value.
export function term(field, value) {
  const plain = /^[A-Za-z0-9_.-]+$/.test(value);
  return `${field}=` + (plain ? value : '"' + value.replace(/["\\]/g, '\\$&') + '"');
}
