import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import type { PhoneSettings } from './config.ts';
import { describeSound, levelMeter } from './listening.ts';
import type { Call } from './phone-call.ts';
import type { Phone } from './phone.ts';
import type { CallEnd } from './sip-call.ts';
import { SILENCE, samplesOnce, tone } from './sound.ts';
import { formatWav, parseWav } from './wav.ts';

const run = promisify(execFile);

export const HELP = `  d <number>   dial an extension, a number or a sip: address     a   answer
  0-9 * #      press keys (a line of them presses all)           h   hang up, or refuse a call that rings
  m            mute on and off                                   r [file.wav]   record what is heard, on and off
  t <Hz>       play another tone; t 0 for silence                s <text>       say something (needs espeak-ng)
  w <file>     play a WAV file                                   q   quit       ?   this help`;

/** The phone of one person at a terminal: one call at a time, commands in, sentences out. */
export class ConsolePhone {
  #phone: Phone;
  #settings: PhoneSettings;
  #say: (text: string) => void;
  #call: Call | undefined;
  #recording: { file: string; from: number } | undefined;
  #sound = '';

  constructor(phone: Phone, settings: PhoneSettings, say: (text: string) => void) {
    this.#phone = phone;
    this.#settings = settings;
    this.#say = say;
    phone.on('call', call => this.#ringing(call));
  }

  /** Obeys one line. Rejects never: what goes wrong is said. */
  async command(text: string): Promise<void> {
    const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
    try {
      if (/^[0-9*#]+$/.test(text)) return await this.#press(text);
      await this.#obey(word.toLowerCase(), rest);
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  /** One line for the foot of the screen. */
  status(): string {
    const call = this.#call;
    if (!call) return `${this.#settings.username} is free`;
    const { rtp } = call;
    const seconds = call.times.answered === undefined ? '' : ` ${clock(performance.now() - call.times.answered)}`;
    const marks = `${rtp.muted ? ' muted' : ''}${this.#recording ? ' recording' : ''}`;
    return `${call.state}${seconds}${marks}  hears ${levelMeter(rtp.hearing)} ${describeSound(rtp.hearing)}`;
  }

  /** Says what is heard when that has changed: for terminals without a status line. */
  tellSound(): void {
    const sound = this.#call?.state === 'answered' ? describeSound(this.#call.rtp.hearing) : '';
    if (sound !== this.#sound && sound !== '') this.#say(`hears ${sound}`);
    this.#sound = sound;
  }

  async hangup(): Promise<void> {
    await this.#call?.hangup();
  }

  async #obey(word: string, rest: string): Promise<void> {
    if (['?', 'help'].includes(word)) return this.#say(HELP);
    if (['d', 'dial'].includes(word)) return this.#dial(rest);
    const call = this.#call;
    if (!/^(a|answer|h|hangup|m|mute|r|record|t|tone|s|say|w|wav)$/.test(word)) {
      throw new Error(`"${word}" means nothing here; ? shows the commands`);
    }
    if (!call) throw new Error('there is no call');
    await this.#obeyInCall(call, word.charAt(0), rest);
  }

  async #obeyInCall(call: Call, key: string, rest: string): Promise<void> {
    if (key === 'a') call.answer();
    else if (key === 'h') await this.#end(call);
    else if (key === 'm') this.#mute(call);
    else if (key === 'r') await this.#record(call, rest);
    else if (key === 't') this.#tone(call, Number(rest));
    else if (key === 's') call.play(samplesOnce(await spoken(rest)));
    else call.play(samplesOnce(parseWav(await readFile(rest))));
  }

  async #dial(target: string): Promise<void> {
    if (target === '') throw new Error('dial whom? For example: d 1002');
    if (this.#call) throw new Error('there is a call already; h ends it');
    this.#say(`dialling ${target}`);
    this.#follow(await this.#phone.dial(target));
  }

  async #press(keys: string): Promise<void> {
    if (this.#call?.state !== 'answered') throw new Error('keys can be pressed once the call is answered');
    await this.#call.press(keys);
  }

  async #end(call: Call): Promise<void> {
    if (call.sip.direction === 'in' && call.state !== 'answered') call.reject(486);
    else await call.hangup();
  }

  #mute(call: Call): void {
    call.rtp.muted = !call.rtp.muted;
    this.#say(call.rtp.muted ? 'muted' : 'no longer muted');
  }

  #tone(call: Call, hz: number): void {
    if (!(hz >= 0 && hz <= 3400)) throw new Error('tones go from 0 (silence) to 3400 Hz');
    call.play(hz === 0 ? SILENCE : tone(hz));
  }

  #ringing(call: Call): void {
    if (this.#call) return call.reject(486);
    const { display, uri } = call.caller;
    this.#say(`${display === '' ? uri : `${display} (${uri})`} calls; a answers, h refuses`);
    this.#follow(call);
    if (call.end) return;
    if (this.#settings.answer) call.answer();
    else call.ring();
  }

  #follow(call: Call): void {
    this.#call = call;
    call.sip.on('state', state => {
      if (state === 'answered') this.#say('answered');
      if (state === 'ringing' && call.sip.direction === 'out') this.#say('it rings');
    });
    call.rtp.on('digit', ({ digit }) => this.#say(`the other side pressed ${digit}`));
    if (call.end) this.#over(call, call.end);
    else call.sip.once('ended', end => this.#over(call, end));
  }

  #over(call: Call, end: CallEnd): void {
    this.#call = undefined;
    this.#say(`the call is over: ${endText(end)}`);
    void this.#stopRecording(call).catch((error: Error) => this.#say(error.message));
  }

  async #record(call: Call, file: string): Promise<void> {
    if (this.#recording) return this.#stopRecording(call);
    const name = file === '' ? `call-${new Date().toISOString().replace(/[:.]/g, '-')}.wav` : file;
    this.#recording = { file: name, from: call.rtp.hearing.position };
    this.#say(`recording to ${name}; r again stops it`);
  }

  async #stopRecording(call: Call): Promise<void> {
    const recording = this.#recording;
    if (!recording) return;
    this.#recording = undefined;
    const { hearing } = call.rtp;
    const samples = hearing.slice(recording.from, hearing.position);
    await writeFile(recording.file, formatWav(samples));
    this.#say(`${recording.file}: ${(samples.length / 8000).toFixed(1)} s recorded`);
  }
}

function endText(end: CallEnd): string {
  const why = [end.status, end.reason].filter(part => part !== undefined).join(' ');
  const who = { us: 'we ended it', them: 'the other side ended it', refused: 'refused' }[end.by];
  return why === '' ? who : `${who} (${why})`;
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

async function spoken(text: string): Promise<Int16Array> {
  const folder = await mkdtemp(join(tmpdir(), 'phone-'));
  try {
    const file = join(folder, 'speech.wav');
    await run('espeak-ng', ['-w', file, '--', text], { timeout: 10_000 });
    return parseWav(await readFile(file));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Error('saying needs espeak-ng installed') : error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
