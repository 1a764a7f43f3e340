import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCommandLine } from '@csi-sidecars/devcluster'
import { describe, expect, it } from '@jest/globals'
import { COMMAND } from './command-line.ts'
import { againLine, type DriverTestOptions } from './options.ts'

async function parse(...args: readonly string[]): Promise<DriverTestOptions> {
  const options = await readCommandLine(COMMAND, args, () => undefined)
  if (options === 'answered') throw new Error('no options')
  return options
}

const DRIVER = '--driver=unix:///csi.sock'

describe('readCommandLine', () => {
  it('without flags other than the required `--driver`, the program runs a short test', async () => {
    expect(await parse(DRIVER)).toEqual({
      driver: 'unix:///csi.sock',
      nodeSockets: [],
      driverCommands: [],
      csiDriverFile: undefined,
      data: undefined,
      nodeIds: [],
      capabilities: undefined,
      parameters: {},
      inlineAttributes: {},
      attributes: [],
      seeds: [1, 2, 3],
      seconds: 12,
      convergeSeconds: 60,
      strict: true,
      binaries: {},
      compare: undefined,
      junit: undefined,
      markdown: undefined,
    })
  })

  it('each flag sets its option', async () => {
    const flags = ['--node-ids=a,b', '--capabilities=block', '--parameter=type=fast', '--parameter=x=a=b', '--seed=7']
    expect(await parse(DRIVER, ...flags, '--report=r.xml', '--markdown=r.md')).toMatchObject({
      nodeIds: ['a', 'b'],
      capabilities: ['block'],
      parameters: { type: 'fast', x: 'a=b' },
      seeds: [7],
      junit: 'r.xml',
      markdown: 'r.md',
    })
    expect((await parse(DRIVER, '--capabilities=')).capabilities).toEqual([])
  })

  it('the flags accept several node sockets and several driver commands', async () => {
    const nodes = ['--node=unix:///a', '--node', 'unix:///b,unix:///c']
    const folder = mkdtempSync(join(tmpdir(), 'sidecars-'))
    writeFileSync(join(folder, 'csi-attacher'), '')
    writeFileSync(join(folder, 'csi-resizer'), '')
    const commands = ['--driver-command=one', '--driver-command=two']
    expect(
      await parse('--controller=unix:///ctrl', ...nodes, ...commands, `--sidecars=${folder}`, '--resizer=/r'),
    ).toMatchObject({
      driver: 'unix:///ctrl',
      nodeSockets: ['unix:///a', 'unix:///b', 'unix:///c'],
      driverCommands: ['one', 'two'],
      binaries: { attacher: join(folder, 'csi-attacher'), resizer: '/r' },
    })
    rmSync(folder, { recursive: true })
    await expect(parse(DRIVER, `--sidecars=${folder}`)).rejects.toThrow(`${folder} has no sidecar: csi-attacher, `)
  })

  it.each([
    [[], '--driver is required: the socket of the driver to test, unix:///path'],
    [['--driver=tcp://h:1'], '--driver tcp://h:1: only unix sockets are known, as unix:///path'],
    [[`--driver=unix:///${'x'.repeat(107)}`], 'the path of a socket has 107 bytes at most'],
    [[DRIVER, '--capabilities=tape'], '--capabilities tape: known are block, shared, clone, topology, inline'],
    [[DRIVER, '--controller=unix:///c'], '--driver and --controller are the same socket under two names'],
    [[DRIVER, '--node=tcp://h:1'], '--node tcp://h:1: only unix sockets are known, as unix:///path'],
    [[DRIVER, '--node=unix:///n', '--node-ids=a'], '--node-ids is for a test without --node'],
    [[DRIVER, '--inline-attribute=x'], '--inline-attribute x: it is as type=fast'],
    [[DRIVER, '--parameter=type'], '--parameter type: it is as type=fast'],
    [[DRIVER, '--chaos=x'], '--chaos x: a seed is a whole number, several are as 1-10'],
    [[DRIVER, '--seed=x'], '--seed x: a seed is a whole number'],
    [[DRIVER, '--seed=-1'], '--seed -1: a seed is a whole number'],
    [[DRIVER, DRIVER], '--driver is given more than once'],
    [[DRIVER, '--seconds=0'], '--seconds must be a whole number of 1 or more'],
    [[DRIVER, '--patience=x'], '--patience must be a whole number of 1 or more'],
    [[DRIVER, '--bogus'], 'Unknown argument: bogus'],
  ])('the flags refuse the arguments %j', async (args, message) => {
    await expect(parse(...args)).rejects.toThrow(message)
  })

  it('the command line that repeats one seed contains the flags of the run', async () => {
    const driver = [DRIVER, "--driver-command=sh -c 'x'", '--node=unix:///n', '--data=/d', '--csidriver=c.yaml']
    const kinds = [
      '--capabilities=block',
      '--parameter=t=a b',
      '--inline-attribute=a=1',
      '--attributes=tier=gold,iops=3',
    ]
    const line = againLine(await parse(...driver, ...kinds, '--chaos=1-9', '--report=r.xml'), 4)
    expect(line).toBe(
      "npm run driver-test -- --driver=unix:///csi.sock --node=unix:///n '--driver-command=sh -c '\\''x'\\''' --data=/d --csidriver=c.yaml --capabilities=block '--parameter=t=a b' --inline-attribute=a=1 --attributes=tier=gold,iops=3 --seconds=12 --patience=60 --seed=4",
    )
  })

  it('the command line that repeats a run contains `--strict=false` if the run had this flag', async () => {
    const options = await parse(DRIVER, '--strict=false')
    expect(options.strict).toBe(false)
    expect(againLine(options)).toBe(
      'npm run driver-test -- --driver=unix:///csi.sock --seconds=12 --patience=60 --strict=false',
    )
  })

  it('the flags fit into 80 columns in the output of `--help`', async () => {
    const texts: string[] = []
    expect(await readCommandLine(COMMAND, ['--help'], (text) => texts.push(text))).toBe('answered')
    expect(texts.join('')).toContain('--driver-command')
    expect(
      Math.max(
        ...texts
          .join('')
          .split('\n')
          .map(({ length }) => length),
      ),
    ).toBeLessThanOrEqual(80)
  })
})
