import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type CommandOptions, readCommandLine, startCommand } from './command.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'command-'))
})
afterEach(() => rm(directory, { recursive: true }))

const read = (args: readonly string[]): ReturnType<typeof readCommandLine> => readCommandLine(args, () => undefined)
const deps = { clock: systemClock, log: silentLogger, onCrash: () => undefined }

test('the command line of the emulator sets all options', async () => {
  const options = { kubeconfigOut: 'k', port: 8080, csiSocket: 's' }
  expect(await read(['--kubeconfig-out', 'k', '--port=8080', '--csi-socket', 's'])).toEqual(options)
})

test.each([[['--help'], 'A Kubernetes API server and a CSI driver in memory.']])(
  'the option %j prints the help text and does not end the process',
  async (args, text) => {
    const written: string[] = []
    expect(await readCommandLine(args, (part) => written.push(part))).toBe('answered')
    expect(written.join('')).toContain(text)
  },
)

test.each([
  [[], '--kubeconfig-out is required'],
  [['--kubeconfig-out', 'k', '--colour'], 'Unknown argument: colour'],
  [['--kubeconfig-out', 'k', '--port', 'x'], '--port must be a port number'],
  [['--kubeconfig-out', 'k', '--port', '1', '--port', '2'], '--port is given more than once'],
])('the emulator refuses the command line %j', async (args, message) => {
  await expect(read(args)).rejects.toThrow(message)
})

function options(rest: Partial<CommandOptions> = {}): CommandOptions {
  const kubeconfigOut = join(directory, 'kubeconfig')
  return { kubeconfigOut, port: 0, csiSocket: undefined, ...rest }
}

test('the emulator starts the API server and the driver, and writes the address of the API server into the kubeconfig', async () => {
  const running = await startCommand(options({ csiSocket: join(directory, 'csi.sock') }), deps)
  const kubeconfig = await readFile(join(directory, 'kubeconfig'), 'utf8')
  expect(kubeconfig).toContain(running.api.url)
  expect(running.driver?.settings.unknownVolumes).toBe('adopt')
  await running.stop()
})

test('the emulator overwrites a kubeconfig only if an emulator has written it', async () => {
  const kubeconfig = join(directory, 'kubeconfig')
  for (const _again of [1, 2]) await (await startCommand(options(), deps)).stop()
  await writeFile(kubeconfig, 'apiVersion: v1\nkind: Config\ncurrent-context: production\n')
  await expect(startCommand(options(), deps)).rejects.toThrow(`${kubeconfig} exists and is not an emulator's`)
  expect(await readFile(kubeconfig, 'utf8')).toContain('production')
})

test('the emulator fails at the start if the socket path cannot be used', async () => {
  const file = join(directory, 'file')
  await writeFile(file, 'kept')
  await expect(startCommand(options({ csiSocket: file }), deps)).rejects.toThrow('is no socket')
})
