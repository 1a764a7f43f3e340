import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type SidecarProcess, startSidecar } from './sidecars.ts'

let directory: string
let exits: string[]
let exited: () => void
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sidecar-'))
  exits = []
  exited = () => undefined
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const start = (code: string): Promise<SidecarProcess> =>
  startSidecar({
    name: 'test',
    command: process.execPath,
    args: ['-e', code],
    logFile: join(directory, 'log'),
    clock: systemClock,
    log: silentLogger,
    onExit: (reason) => {
      exits.push(reason)
      exited()
    },
  })

const STAYS = 'setInterval(() => {}, 1000)'

describe('startSidecar', () => {
  it('a sidecar starts again when its process is killed', async () => {
    const sidecar = await start(STAYS)
    const before = sidecar.pid
    const ended = new Promise<void>((resolve) => {
      exited = resolve
    })
    sidecar.kill('SIGKILL')
    await ended
    expect(exits).toEqual(['by SIGKILL'])
    while (sidecar.pid === undefined) await systemClock.sleep(10)
    expect(sidecar.pid).not.toBe(before)
    await sidecar.stop()
    expect([sidecar.pid, exits.length]).toEqual([undefined, 1])
  })

  it('a kill of a sidecar also ends its child processes', async () => {
    const inner = join(directory, 'inner')
    const sidecar = await start(`
      const { spawn } = require('node:child_process')
      const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
      require('node:fs').writeFileSync(${JSON.stringify(inner)}, String(child.pid))
      ${STAYS}`)
    const read = (): string => (existsSync(inner) ? readFileSync(inner, 'utf8') : '')
    while (read() === '') await systemClock.sleep(10)
    const pid = read()
    sidecar.kill('SIGKILL')
    while (isRunning(pid)) await systemClock.sleep(10)
    await sidecar.stop()
  })

  it('a killed sidecar does nothing more after the call of `kill`', async () => {
    const sidecar = await start(STAYS)
    const pid = String(sidecar.pid)
    sidecar.kill('SIGKILL')
    // The loop lets no other part of this process run, so that only `kill` itself can have sent the signal.
    const until = systemClock.monotonic() + 5_000
    while (isRunning(pid) && systemClock.monotonic() < until);
    const stillRuns = isRunning(pid)
    await sidecar.stop()
    expect(stillRuns).toBe(false)
  })

  it('a sidecar does not start again if it is stopped while it waits for its restart', async () => {
    const sidecar = await start('process.exit(3)')
    await new Promise<void>((resolve) => {
      exited = resolve
    })
    await sidecar.stop()
    expect(exits).toEqual(['with code 3'])
  })

  it('a sidecar writes its log to a file', async () => {
    const sidecar = await start(`console.error('hello'); ${STAYS}`)
    const log = (): string => readFileSync(join(directory, 'log'), 'utf8')
    while (!log().includes('hello')) await systemClock.sleep(10)
    await sidecar.stop()
  })

  it('a failed start of a sidecar causes an error that names the command', async () => {
    const options = {
      name: 'x',
      command: '/does/not/exist',
      args: [],
      logFile: join(directory, 'log'),
      clock: systemClock,
      log: silentLogger,
    }
    await expect(startSidecar({ ...options, onExit: () => undefined })).rejects.toThrow(
      '/does/not/exist cannot be started',
    )
  })
})

/** Reports whether a process runs. A zombie does not run, although /proc still lists it. */
function isRunning(pid: string): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
