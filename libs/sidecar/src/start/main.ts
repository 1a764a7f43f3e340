import process from 'node:process'
import { processHost } from './host.ts'
import { type Program, runProgram } from './program.ts'
import { VERSION } from './version.ts'

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
