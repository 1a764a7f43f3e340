import { expect, test } from '@jest/globals'
import { startProcess } from './process.ts'

const node = (script: string): readonly [string, ...string[]] => [process.execPath, '-e', script]

test('`untilLine` finds a line in the output of a child process, and the whole output is kept', async () => {
  await using child = await startProcess({ command: node('console.error("one\\ntwo"); setInterval(() => {}, 1000)') })
  expect(await child.untilLine(/^t/)).toBe('two')
  expect(child.stderr).toEqual(['one', 'two'])
  expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' })
})

test('`untilLine` rejects with the output if the child process ends without the line', async () => {
  await using child = await startProcess({ command: node('console.error("sorry"); process.exitCode = 3') })
  await expect(child.untilLine('ready')).rejects.toThrow('ended with 3 before a line with ready:\nsorry')
})

test('`startProcess` rejects if the program does not exist', async () => {
  await expect(startProcess({ command: ['/no/such/program'] })).rejects.toThrow('ENOENT')
})
