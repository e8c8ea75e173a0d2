import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

export interface ToolRun {
  command: string;
  args: string[];
  input: string | Buffer;
  timeout_ms: number;
  /** More output than this kills the program. */
  max_bytes: number;
  signal: AbortSignal;
}

/** Bytes of its complaints that are kept for the error. */
const MAX_COMPLAINT = 400;

/** Ends the program when its time is over or nobody wants the result any more. Returns what stops the watch. */
const watch = (child: ChildProcessWithoutNullStreams, run: ToolRun, fail: (reason: string) => void): (() => void) => {
  const give = (reason: string) => () => {
    fail(reason);
    child.kill('SIGKILL');
  };
  const timer = setTimeout(give(`took longer than ${run.timeout_ms} ms`), run.timeout_ms);
  const abort = give('was aborted');
  run.signal.addEventListener('abort', abort, { once: true });
  if (run.signal.aborted) abort();
  return () => {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', abort);
  };
};

/**
 * Runs a program without a shell, gives it its input and collects its standard output.
 *
 * @throws Error when it is missing, fails, writes too much, takes too long or is aborted
 */
export const runTool = (run: ToolRun): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const child = spawn(run.command, run.args, { stdio: 'pipe' });
    const output: Buffer[] = [];
    let [size, complaint, reason] = [0, '', ''];
    const unwatch = watch(child, run, why => (reason ||= why));
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= run.max_bytes) return output.push(chunk);
      reason ||= `wrote more than ${run.max_bytes} bytes`;
      return child.kill('SIGKILL');
    });
    child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(0, MAX_COMPLAINT)));
    child.stdin.on('error', () => undefined); // it stopped reading; its exit code says why
    child.on('error', error => (reason ||= error.message));
    child.on('close', code => {
      unwatch();
      if (code === 0 && !reason) resolve(Buffer.concat(output));
      else reject(new Error(`${run.command}: ${reason || complaint.trim() || `ended with ${code}`}`));
    });
    child.stdin.end(run.input);
  });

/** True when a program is installed and answers. */
export const isInstalled = async (command: string, args: string[]): Promise<boolean> => {
  try {
    const signal = new AbortController().signal;
    await runTool({ command, args, input: '', timeout_ms: 5000, max_bytes: 1_000_000, signal });
    return true;
  } catch {
    return false; // for whatever reason it cannot be used
  }
};
