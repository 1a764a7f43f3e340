import { messageOf, systemClock } from '@csi-sidecars/base'
import { createLogger } from '@csi-sidecars/telemetry'

/** Generates missing code that the imports below need. */
await import(new URL('../../../tools/start.mjs', import.meta.url).href)
const { readCommandLine, startCommand } = await import('./command.ts')

/** Prints the addresses, and runs until a signal ends it. Resolves with the exit code. */
async function main(): Promise<number> {
  const options = await readCommandLine(process.argv.slice(2), (text) => process.stdout.write(text))
  if (options === 'answered') return 0
  const write = (line: string): void => {
    process.stderr.write(line)
  }
  const log = createLogger({ format: 'text', verbosity: 0, clock: systemClock, write })
  const crashed = Promise.withResolvers<number>()
  // The signal handlers exist before the first output, because a reader of the output may send a signal at once.
  const signalled = new Promise<number>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => resolve(0))
  })
  // A crash of the driver ends the process, as for a real driver.
  const running = await startCommand(options, { clock: systemClock, log, onCrash: () => crashed.resolve(1) })
  process.stdout.write(`API server: ${running.api.url}\nkubeconfig: ${options.kubeconfigOut}\n`)
  if (running.driver !== undefined) process.stdout.write(`CSI driver: ${running.driver.address}\n`)
  const code = await Promise.race([signalled, crashed.promise])
  await running.stop()
  return code
}

const code = await main().catch((error: unknown) => {
  process.stderr.write(`emulator: ${messageOf(error)}\n`)
  return 1
})
process.exit(code)
