import { describe, expect, it } from '@jest/globals'
import { COMMAND } from './command-line.ts'
import type { Options } from './options.ts'
import { readCommandLine } from './program.ts'

async function parse(...args: string[]): Promise<Options> {
  const options = await readCommandLine(COMMAND, args, () => undefined)
  if (options === 'answered') throw new Error('no options')
  return options
}

describe('readCommandLine', () => {
  it('the options default to two nodes, the emulated driver and all controllers', async () => {
    expect(await parse()).toEqual({
      exit: false,
      nodes: 2,
      driver: undefined,
      binaries: { attacher: undefined, resizer: undefined, provisioner: undefined, snapshotter: undefined },
      kubeconfig: undefined,
      kubernetesMinor: undefined,
      controllers: undefined,
      data: undefined,
      timeoutMs: 30_000,
      pauseMs: undefined,
      pagePort: 0,
    })
  })

  it('the options default to one node and longer time-outs with `--driver`', async () => {
    expect(await parse('--driver', 'unix:///csi.sock')).toMatchObject({
      driver: 'unix:///csi.sock',
      nodes: 1,
      timeoutMs: 300_000,
    })
    expect(await parse('--driver', 'unix:///csi.sock', '--nodes', '1')).toMatchObject({ nodes: 1 })
  })

  it('the flag `--controllers` selects the controllers to run', async () => {
    expect(await parse('--controllers', 'binder,volume-manager')).toMatchObject({
      controllers: ['binder', 'volume-manager'],
    })
  })

  it('the flag `--kubernetes` selects the behaviour of the controllers', async () => {
    expect(await parse('--kubernetes', '1.38')).toMatchObject({ kubernetesMinor: 38 })
  })

  it.each([
    [['--kubernetes', '1.12'], '--kubernetes 1.12: known are 1.36, 1.37, 1.38'],
    [['--nodes', '0'], '--nodes must be a whole number of 1 or more'],
    [['--nodes', 'x'], '--nodes must be a whole number of 1 or more'],
    [
      ['--controllers', 'kubelet'],
      '--controllers kubelet: known are persistent-volume, binder, attach-detach, volume-manager, ephemeral-volume, expander, snapshot-controller',
    ],
    [
      ['--driver', 'unix:///csi.sock', '--nodes', '2'],
      '--nodes 2: the socket of --driver is that of one node, which cannot mount for another',
    ],
    [['--page-port', '99999'], '--page-port must be a port, 0 to 65535'],
    [['--page-port', '-1'], '--page-port must be a port, 0 to 65535'],
    [['--page-port', 'http'], '--page-port must be a port, 0 to 65535'],
    [['--pause', 'x'], '--pause must be a number of seconds'],
    [['--driver', 'tcp://h:1'], '--driver tcp://h:1: only unix sockets are known, as unix:///path'],
    [['--driver', 'csi.sock'], '--driver csi.sock: only unix sockets are known, as unix:///path'],
    [['--nodes', '2', '--nodes', '3'], '--nodes is given more than once'],
    [['--bogus'], 'Unknown argument: bogus'],
  ])('the options refuse the arguments %j', async (args, message) => {
    await expect(parse(...args)).rejects.toThrow(message)
  })

  it('the output of `--help` fits into 80 columns', async () => {
    const texts: string[] = []
    expect(await readCommandLine(COMMAND, ['--help'], (text) => texts.push(text))).toBe('answered')
    const lines = texts.join('').split('\n')
    expect(lines.some((line) => line.includes('--kubeconfig'))).toBe(true)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  })
})
