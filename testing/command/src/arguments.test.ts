import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'

const COMMAND = `
  import { COUNT, readArguments } from ${JSON.stringify(join(import.meta.dirname, 'arguments.ts'))}
  const { values } = readArguments(
    'try [--seed N]', { options: { seed: { type: 'string', default: '1' } } }, { seed: COUNT, absent: COUNT }
  )
  process.stdout.write(values.seed)
`

function run(...args: readonly string[]) {
  const node = ['--input-type=module-typescript', '--eval', COMMAND, '--', 'command', ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

it.each([
  [['--seed', '7'], { status: 0, stdout: '7', stderr: '' }],
  [[], { status: 0, stdout: '1', stderr: '' }],
  [['--help'], { status: 0, stdout: 'usage: try [--seed N]\n', stderr: '' }],
  [['--seeds', '7'], { status: 2, stdout: '', stderr: "Unknown option '--seeds'\nusage: try [--seed N]\n" }],
  [['--seed', 'x'], { status: 2, stdout: '', stderr: '--seed cannot be "x"\nusage: try [--seed N]\n' }],
  [['--seed', '0'], { status: 2, stdout: '', stderr: '--seed cannot be "0"\nusage: try [--seed N]\n' }],
  [['--seed'], { status: 2, stdout: '', stderr: "Option '--seed <value>' argument missing\nusage: try [--seed N]\n" }],
])('a command with the arguments %j prints %j', (args, expected) => {
  expect(run(...args)).toEqual(expected)
})
