// A CSI driver for tests: its volumes are directories and loop devices. With --registration-dir it registers itself.
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { messageOf, systemClock } from '@csi-sidecars/base'
import { startDirectoryDriver } from './driver.ts'
import { register } from './registration.ts'

const FLAGS = {
  endpoint: { type: 'string', default: 'unix:///csi/csi.sock' },
  'node-id': { type: 'string', default: hostname() },
  'state-dir': { type: 'string', default: '/csi-data' },
  'driver-name': { type: 'string', default: 'directory.csi.example' },
  'registration-dir': { type: 'string' },
} as const

const print = (line: string): void => void process.stderr.write(`${line}\n`)

/** Runs until a signal. Returns the exit code. */
async function main(): Promise<number> {
  const { values: flags } = parseArgs({ options: FLAGS })
  const { 'driver-name': name, 'registration-dir': folder } = flags
  const socket = flags.endpoint.replace(/^unix:\/\//, '')
  await using driver = await startDirectoryDriver({
    name,
    nodeId: flags['node-id'],
    socket,
    stateFolder: flags['state-dir'],
    log: print,
    newId: (prefix) => `${prefix}-${systemClock.now().toString(36)}-${String(systemClock.random()).slice(2, 12)}`,
  })
  print(`${name} listens at ${driver.address}`)
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end(0))
  const onAnswer = ({ pluginRegistered, error }: { pluginRegistered: boolean; error: string }): void => {
    print(pluginRegistered ? 'the kubelet accepts the driver' : `the kubelet refuses the driver: ${error}`)
    // The kubelet asks each socket once. The socket of the next process is new.
    if (!pluginRegistered) end(1)
  }
  const registration = folder === undefined ? undefined : await register(folder, { name, endpoint: socket }, onAnswer)
  return await ended.finally(() => registration?.kill())
}

process.exitCode = await main().catch((error: unknown) => {
  print(messageOf(error))
  return 2
})
