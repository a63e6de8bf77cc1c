// Requests to the admin API with the token, which is kept in this tab only: in no cookie and in no
// URL.

const stored = 'kasoku-token';

export const needsToken = document.querySelector('meta[name=kasoku-token]').content === 'required';
export function token() { return sessionStorage.getItem(stored) ?? ''; }
export function setToken(text) { sessionStorage.setItem(stored, text); }
export function dropToken() { sessionStorage.removeItem(stored); }

// Refused is the error of a request without the right token.
export class Refused extends Error {}

async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = 'Bearer ' + token();
  const response = await fetch(path, { ...options, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error ?? message;
  } catch { /* it is not an error of the API */ }
  throw response.status === 401 ? new Refused(message) : new Error(message);
}

export async function get(path, signal) {
  return (await send(path, { signal })).json();
}

export async function post(path, body) {
  return (await send(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json();
}

// events calls take with each event, until the stream ends or signal aborts it. EventSource can't
// send the token.
export async function events(signal, take) {
  const response = await send('api/v1/events', { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const messages = (text + value).split('\n\n');
    text = messages.pop();
    for (const message of messages) {
      const data = message.split('\n').find((line) => line.startsWith('data: '));
      if (data) take(JSON.parse(data.slice(6)));
    }
  }
}
