import type { Ear } from './ear.ts';
import type { PhoneAccount } from './office.ts';
import type { Stack } from './stack.ts';

/** What every phone that somebody else wrote is told. */
export interface ForeignPhoneOptions {
  stack: Stack;
  account: PhoneAccount;
  transport: 'udp' | 'tcp' | 'tls' | 'wss';
  /** Hz of the tone that it says. */
  tone: number;
  /** A folder of its own, for its settings and what it hears. */
  folder: string;
}

/** A phone that somebody else wrote: a program of its own, worked as a person works it, with an ear at its loudspeaker. */
export interface ForeignPhone {
  readonly name: string;
  /** Hz of the tone that it says. */
  readonly tone: number;
  readonly ear: Ear;
  /** Resolves once the call is up. */
  dial(target: string): Promise<void>;
  /** Takes the next call that comes, also one that rings already; resolves once it is up. */
  answer(): Promise<void>;
  hold(): Promise<void>;
  resume(): Promise<void>;
  /** Blind: sends the other party to a number. */
  transfer(target: string): Promise<void>;
  hangup(): Promise<void>;
  /** Resolves once a call of it has ended. */
  ended(): Promise<void>;
  /** Ends all its calls without waiting: after a test that failed. */
  drop(): void;
  /** What it said so far counts no more. */
  forget(): void | Promise<void>;
  stop(): Promise<void>;
}

/** The SIP address of the platform for a phone, such as `sip:127.0.0.1:5061;transport=tls`. */
export const proxyOf = ({ stack, transport }: ForeignPhoneOptions): string =>
  `sip:${stack.sip.host}:${transport === 'tls' ? stack.sipPorts.tls : stack.sip.port};transport=${transport}`;
