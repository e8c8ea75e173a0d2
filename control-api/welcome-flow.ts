import type { ActionInput } from '#contract/action';
import { newId } from '#contract/ids';

const talk = (text: string): ActionInput => ({ type: 'talk', option: { text, language: 'en-US' } });
const goto = (target_id: string): ActionInput => ({ type: 'goto', option: { target_id, loop_count: 3 } });

/**
 * What callers of the first number hear: a greeting and a menu. 1: a beep and a sentence; 2: ten seconds of echo; both
 * lead back to the menu, three times at most. Anything else, and nothing: goodbye.
 */
export const welcomeActions = (): ActionInput[] => {
  const [menu, beep, echo, goodbye] = [newId(), newId(), newId(), newId()];
  return [
    { type: 'answer' },
    talk('Welcome to Trunkline. Your phone platform is up and running.'),
    { ...talk('Press 1 to hear a tone. Press 2 to hear yourself for ten seconds.'), id: menu },
    { type: 'digits_receive', option: { duration: 10_000, length: 1 } },
    { type: 'branch', option: { target_ids: { '1': beep, '2': echo }, default_target_id: goodbye } },
    { id: beep, type: 'beep' },
    talk('You pressed one, and that was the tone.'),
    goto(menu),
    talk('Goodbye.'),
    { type: 'hangup' },
    { ...talk('Speak after this sentence, and hear yourself.'), id: echo },
    { type: 'echo', option: { duration: 10_000 } },
    talk('That was the echo.'),
    goto(menu),
    { ...talk('Thank you for calling. Goodbye.'), id: goodbye },
    { type: 'hangup' },
  ];
};
