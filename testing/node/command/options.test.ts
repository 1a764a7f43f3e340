import { expect, it } from '@jest/globals'
import { parseOptions } from './options.ts'

const silent = (): void => undefined
const unset = { kubernetes: undefined, driver: undefined }

it.each([
  ['up', { command: { kind: 'up' }, settings: unset }],
  ['down', { command: { kind: 'down' }, settings: unset }],
  [
    'up --kubernetes 1.37 --driver ours',
    { command: { kind: 'up' }, settings: { kubernetes: '1.37', driver: { kind: 'ours' } } },
  ],
  [
    'up --driver hostpath=/a=b --registrar /c',
    { command: { kind: 'up' }, settings: { ...unset, driver: { kind: 'hostpath', file: '/a=b', registrar: '/c' } } },
  ],
  [
    'run -- kubectl get -A pods',
    { command: { kind: 'run', command: ['kubectl', 'get', '-A', 'pods'] }, settings: unset },
  ],
  ['deploy go', { command: { kind: 'deploy', sidecars: 'go' }, settings: unset }],
  ['life --sidecars go,chart', { command: { kind: 'life', sidecars: ['go', 'chart'] }, settings: unset }],
  [
    'storage-tests --focus a.b',
    {
      command: { kind: 'storage-tests', sidecars: ['ours'], selection: { group: 'usual', focus: 'a.b' } },
      settings: unset,
    },
  ],
])('the arguments %s are understood', async (line, expected) => {
  expect(await parseOptions(line.split(' '), silent)).toEqual(expected)
})

it.each([
  ['', 'no command'],
  ['begin', 'Unknown argument: begin'],
  ['up --fast', 'Unknown argument: fast'],
  ['up --kubernetes 1.20', 'Invalid values'],
  ['up --driver other', '--driver other: it is ours or hostpath=FILE'],
  ['up --driver hostpath=/a', '--driver hostpath=FILE needs --registrar FILE'],
  ['up --registrar /a', '--registrar FILE needs --driver hostpath=FILE'],
  ['up --driver ours --driver ours', '--driver is given more than once'],
  ['run', 'run needs a command'],
  ['life --sidecars rust', '--sidecars rust: known are go, ours, chart'],
  ['life --sidecars', 'Not enough arguments following: sidecars'],
])('the arguments %s are refused in one line that says why', async (line, why) => {
  const refused = parseOptions(line === '' ? [] : line.split(' '), silent)
  await expect(refused).rejects.toThrow(why)
  await expect(refused).rejects.toThrow(/^[^\n]*--help lists the commands$/)
})

it('--help prints the commands, and no command runs', async () => {
  const written: string[] = []
  expect(await parseOptions(['--help'], (text) => written.push(text))).toBe('answered')
  expect(written.join('')).toContain('storage-tests')
})
