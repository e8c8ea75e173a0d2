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
/** The name of a sound, the only thing in a message that may be long. */
const sound = '"audioContent"';

/** Reads a text frame (protocol page §10, from the application). Null for what is to be ignored. */
export function readMessage(text: string): ForkMessage | null {
  try {
    return isShort(text) ? read(JSON.parse(text)) : null;
  } catch {
    return null; // whatever is no JSON, or nested too deep to be written again, is ignored
  }
}

/** Millions of brackets would take seconds to read, in which nobody hears anything. */
function isShort(text: string): boolean {
  return text.length - soundLength(text) <= maxEvent;
}

function soundLength(text: string): number {
  const named = text.indexOf(sound);
  const from = text.indexOf('"', named + sound.length);
  return named < 0 || from < 0 ? 0 : Math.max(0, text.indexOf('"', from + 1) - from);
}

function read(message: unknown): ForkMessage | null {
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
