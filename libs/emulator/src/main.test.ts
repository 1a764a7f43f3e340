import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from '@jest/globals'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'main-'))
})
afterEach(async () => {
  // The processes of a failed test.
  for (const child of running.splice(0)) child.kill('SIGKILL')
  await rm(directory, { recursive: true })
})

const running: ChildProcess[] = []

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command; with a signal, sends it at the first output. */
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

test('it prints where it listens, and runs until a signal', async () => {
  const kubeconfig = join(directory, 'kubeconfig')
  const socket = join(directory, 'csi.sock')
  const ended = await run(['--kubeconfig-out', kubeconfig, '--csi-socket', socket], true)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const lines = ended.stdout.split('\n')
  expect(lines[0]).toMatch(/^API server: https:\/\/127\.0\.0\.1:\d+$/)
  expect(lines.slice(1)).toEqual([`kubeconfig: ${kubeconfig}`, `CSI driver: unix://${socket}`, ''])
}, 60_000)

/** Starts the command with data, and resolves with the way to its API server once it listens. */
async function keeping(data: string) {
  const kubeconfig = join(directory, 'kubeconfig')
  const child = spawn(process.execPath, [MAIN, '--kubeconfig-out', kubeconfig, '--data', data])
  running.push(child)
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const text = await readFile(kubeconfig, 'utf8')
  const [, server = ''] = /"server":"([^"]+)"/.exec(text) ?? []
  const [, token = ''] = /"token":"([^"]+)"/.exec(text) ?? []
  const ask = (method: string, path: string, body?: object): Promise<number> =>
    asked(server + path, { method, token, body })
  return { ask, end: (signal: 'SIGTERM' | 'SIGKILL') => child.kill(signal), closed, stderr: () => stderr }
}

function asked(
  url: string,
  { method, token, body }: { method: string; token: string; body?: object | undefined },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = request(url, { method, headers, rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const MAPS = '/api/v1/namespaces/default/configmaps'
const map = (name: string): object => ({ metadata: { name } })

test('an answered write survives the death of the process', async () => {
  const data = join(directory, 'data.json')
  const first = await keeping(data)
  expect(await first.ask('POST', MAPS, map('a'))).toBe(201)
  first.end('SIGKILL')
  await first.closed
  const second = await keeping(data)
  expect(await second.ask('GET', `${MAPS}/a`)).toBe(200)
  second.end('SIGTERM')
  expect(await second.closed).toBe(0)
}, 60_000)

test('a write that cannot be saved is an error for its client, and SIGTERM still ends the process', async () => {
  const folder = await mkdtemp(join(directory, 'gone-'))
  const one = await keeping(join(folder, 'data.json'))
  await rm(folder, { recursive: true })
  expect(await one.ask('POST', MAPS, map('a'))).toBe(500)
  expect(await one.ask('POST', MAPS, map('b'))).toBe(500)
  expect(await one.ask('GET', MAPS)).toBe(200)
  one.end('SIGTERM')
  expect(await one.closed).toBe(1)
  const lines = one.stderr().trimEnd().split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain('Failed to save data')
  expect(lines[1]).toMatch(/^emulator: .*data.json cannot be written: ENOENT/)
}, 60_000)

test('a wrong command line ends the process with one line and code 1', async () => {
  expect(await run(['--colour=red'])).toEqual({ code: 1, stdout: '', stderr: 'emulator: Unknown argument: colour\n' })
}, 60_000)
