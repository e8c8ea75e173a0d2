/** The part of drachtio-fsmrf 5 that we use; the package has no types of its own. */
declare module 'drachtio-fsmrf' {
  import type { EventEmitter } from 'node:events';
  import type { Socket } from 'node:net';

  export interface EslEvent {
    getHeader(name: string): string | undefined;
    getBody(): string;
  }

  interface Connection {
    socket?: Socket;
    connected(): boolean;
    disconnect(): void;
    on(event: string, listener: (event: EslEvent) => void): unknown;
    removeListener(event: string, listener: (event: EslEvent) => void): unknown;
    filter(header: string, value: string): void;
    api(command: string, args: string, callback: (event: EslEvent) => void): void;
  }

  export interface Endpoint extends EventEmitter {
    readonly uuid: string;
    readonly connected: boolean;
    readonly conn: Connection | null;
    readonly local: { sdp: string };
    readonly remote: { sdp: string };
    readonly dialog: EventEmitter & { destroy(): Promise<unknown> } & { connected: boolean };
    execute(application: string, argument?: string): Promise<EslEvent>;
    api(command: string, args?: string | string[]): Promise<EslEvent>;
    /** `uuid_dump`, before it with `true` the counters of the RTP stream; variables are called `variable_…`. */
    getChannelVariables(includeMedia: boolean): Promise<Record<string, string | undefined>>;
    forkAudioStart(options: {
      wsUrl: string;
      mixType: string;
      sampling: string;
      bugname: string;
      bidirectionalAudio: { enabled: string; streaming: string; sampleRate: string };
    }): Promise<unknown>;
    forkAudioStop(bugname: string): Promise<unknown>;
    modify(sdp: string): Promise<string>;
    bridge(other: Endpoint | string): Promise<unknown>;
    unbridge(): Promise<unknown>;
    destroy(): Promise<unknown>;
  }

  export interface MediaServer extends EventEmitter {
    readonly conn: Connection;
    readonly address: string;
    readonly currentSessions: number;
    connected(): boolean;
    /** Whether its SIP side is there over these, such as `['ipv6', 'udp']`. */
    hasCapability(capability: string[]): boolean;
    createEndpoint(options?: {
      remoteSdp?: string;
      /** Addresses to be offered; the media server has to be there over them. */
      family?: 'ipv4' | 'ipv6';
      headers?: Record<string, string>;
    }): Promise<Endpoint>;
    api(command: string): Promise<string>;
    disconnect(): void;
  }

  interface ConnectOptions {
    address: string;
    port: number;
    secret: string;
    listenAddress: string;
    listenPort?: number;
    advertisedAddress?: string;
  }

  export default class Mrf {
    constructor(srf: unknown);
    connect(options: ConnectOptions): Promise<MediaServer>;
  }
}
