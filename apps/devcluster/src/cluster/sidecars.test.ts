import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Sidecar, startSidecar } from './sidecars.ts'

let directory: string
let exits: string[]
let exited: () => void
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sidecar-'))
  exits = []
  exited = () => undefined
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const start = (code: string): Promise<Sidecar> =>
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

describe('a sidecar', () => {
  it('starts again when it ends by itself', async () => {
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

  it('takes along its child processes when it is killed', async () => {
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

  it('does not start again after a stop, even between two lives', async () => {
    const sidecar = await start('process.exit(3)')
    await new Promise<void>((resolve) => {
      exited = resolve
    })
    await sidecar.stop()
    expect(exits).toEqual(['with code 3'])
  })

  it('writes its log to a file', async () => {
    const sidecar = await start(`console.error('hello'); ${STAYS}`)
    const log = (): string => readFileSync(join(directory, 'log'), 'utf8')
    while (!log().includes('hello')) await systemClock.sleep(10)
    await sidecar.stop()
  })

  it('reports that it cannot start', async () => {
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

/** A stopped process has ended even if no caller has waited for it. */
function isRunning(pid: string): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
