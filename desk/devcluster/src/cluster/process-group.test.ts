import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'

const MODULE = fileURLToPath(new URL('./process-group.ts', import.meta.url))

/** A script that starts a child process in a new process group, guards the group, and prints the ID of the child. */
const OWNER = `
  const { spawn } = await import('node:child_process')
  const { guardGroup } = await import(${JSON.stringify(MODULE)})
  const child = spawn('sleep', ['1000'], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] })
  guardGroup(child.pid, (error) => { throw error })
  console.log(child.pid)
  setInterval(() => {}, 1000)
`

describe('guardGroup', () => {
  it('a child process group ends when its parent process is killed', async () => {
    const owner = spawn(process.execPath, ['--input-type=module', '-e', OWNER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [pid] = await once(owner.stdout.setEncoding('utf8'), 'data')
    expect(Number(pid)).toBeGreaterThan(0)
    // The script and its child share one pipe, which closes when both have ended.
    const closed = once(owner.stdout, 'close')
    owner.kill('SIGKILL')
    await closed
  })
})
