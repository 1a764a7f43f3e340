import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { start, stop } from '../process/processes.ts'
import { Driver } from './driver.ts'

/** A CSI driver in a child process, which signals can stop and continue. */
export interface DriverProcess extends AsyncDisposable {
  signal(signal: NodeJS.Signals): void
}

/** Starts a driver process, and resolves when it listens on its socket. */
export async function driverProcess(socket: string, name: string): Promise<DriverProcess> {
  const child = start(process.execPath, [fileURLToPath(import.meta.url), socket, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (child.stdout !== null) await once(child.stdout, 'data')
  return { signal: (signal) => void child.kill(signal), [Symbol.asyncDispose]: () => stop(child) }
}

if (import.meta.main) {
  const [socket = '', name = ''] = process.argv.slice(2)
  await new Driver({ socket, name, controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] }).start()
  process.stdout.write('listening\n')
}
