import process from 'node:process'
import { processHost } from './host.ts'
import { type Program, runProgram } from './program.ts'

declare const __VERSION__: string | undefined

/** Set by the build; a run from source has no version of its own. */
const VERSION = typeof __VERSION__ === 'undefined' ? 'unknown' : __VERSION__

/** Runs the program as this process, to the end of both. */
export async function main(program: Program): Promise<never> {
  const ending = await runProgram(program, processHost(process), VERSION)
  if ('bySignal' in ending) {
    process.removeAllListeners(ending.bySignal)
    process.kill(process.pid, ending.bySignal)
  }
  // The first process of a container outlives its own signal.
  process.exit('code' in ending ? ending.code : { SIGINT: 130, SIGTERM: 143 }[ending.bySignal])
}
