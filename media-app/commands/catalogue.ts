import type { CommandBody, CommandName, CommandResult } from '#contract/commands';
import type { Services } from '../services.ts';

/** Who gave a command. */
export interface Origin {
  customer_id: string;
  request_id: string;
}

/** Obeys one command. Rejects with a PlatformError that the API shows. */
export type CommandHandler<N extends CommandName> = (
  services: Services,
  body: CommandBody<N>,
  origin: Origin,
) => Promise<CommandResult<N>>;

/** Exactly one handler a command: a missing one does not compile. */
export type CommandHandlers = { [N in CommandName]: CommandHandler<N> };
