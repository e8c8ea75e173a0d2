/** What the far end asks for in a text frame. */
export type ForkMessage =
  | { kind: 'play'; data: Record<string, unknown>; audio: string }
  | { kind: 'kill' }
  | { kind: 'mark'; name: string }
  | { kind: 'clear-marks' }
  /** To be told as an event of this name with this body. */
  | { kind: 'event'; name: string; body: string };

const told = new Set(['transcription', 'transfer', 'disconnect', 'error']);
const maxEvent = 1024 * 1024;
const maxMark = 1024;

/** Reads a text frame (protocol page §10, from the application). Null for what is to be ignored. */
export function readMessage(text: string): ForkMessage | null {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return null; // whatever is no JSON is ignored
  }
  const { type, data } = Object(message) as { type?: unknown; data?: unknown };
  if (type === 'playAudio') return playMessage(data);
  if (type === 'killAudio') return { kind: 'kill' };
  if (type === 'mark') return markMessage(data);
  if (type === 'clearMarks') return { kind: 'clear-marks' };
  if (typeof type !== 'string' || type === 'json') return eventMessage('json', message);
  return told.has(type) ? eventMessage(type, data) : null;
}

/** The text frame that tells what became of a mark, written as the real module writes it. */
export function markReport(name: string, event: string): string {
  return `{"type": "mark", "data": {"name":${JSON.stringify(name)}, "event": ${JSON.stringify(event)}}}`;
}

function playMessage(data: unknown): ForkMessage | null {
  if (!isObject(data)) return null;
  const { audioContent, ...rest } = data;
  return typeof audioContent === 'string' ? { kind: 'play', data: rest, audio: audioContent } : null;
}

function markMessage(data: unknown): ForkMessage | null {
  const name = isObject(data) ? data['name'] : undefined;
  return typeof name === 'string' && name.length <= maxMark ? { kind: 'mark', name } : null;
}

function eventMessage(name: string, data: unknown): ForkMessage | null {
  const body = data === undefined ? '' : JSON.stringify(data);
  return body.length > maxEvent ? null : { kind: 'event', name, body };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
