import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from '@jest/globals'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'main-'))
})
afterEach(() => rm(directory, { recursive: true }))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command. With `endAtOutput`, it sends SIGTERM at the first output. */
function run(args: readonly string[], endAtOutput = false): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env['PATH'] } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    if (endAtOutput && stdout === '') child.kill('SIGTERM')
    stdout += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
}

test('the command prints its addresses and runs until a signal', async () => {
  const kubeconfig = join(directory, 'kubeconfig')
  const socket = join(directory, 'csi.sock')
  const ended = await run(['--kubeconfig-out', kubeconfig, '--csi-socket', socket], true)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const lines = ended.stdout.split('\n')
  expect(lines[0]).toMatch(/^API server: https:\/\/127\.0\.0\.1:\d+$/)
  expect(lines.slice(1)).toEqual([`kubeconfig: ${kubeconfig}`, `CSI driver: unix://${socket}`, ''])
}, 60_000)

test('the command prints one line about a wrong option and ends with exit code 1', async () => {
  expect(await run(['--colour=red'])).toEqual({ code: 1, stdout: '', stderr: 'emulator: Unknown argument: colour\n' })
}, 60_000)
