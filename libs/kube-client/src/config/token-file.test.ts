import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { TokenFile } from './token-file.ts'

let folder: string
let path: string
let clock: FakeClock
let log: RecordingLogger
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'token-'))
  path = join(folder, 'token')
  clock = new FakeClock()
  log = recordingLogger()
})
afterEach(() => rmSync(folder, { recursive: true }))

const open = (): Promise<TokenFile> => TokenFile.open(path, { clock, log })

describe('the credentials in a token file', () => {
  test('the client trims the token in a file, and reads the file again after a minute', async () => {
    writeFileSync(path, ' one\n')
    const file = await open()
    writeFileSync(path, 'two\n')
    await clock.advance(59_999)
    expect(file.authorization()).toBe('Bearer one')
    await clock.advance(1)
    expect(await file.authorization()).toBe('Bearer two')
    expect(file.authorization()).toBe('Bearer two')
  })

  test('the client reads the token file again after a refusal by the server, and reports whether the token has changed', async () => {
    writeFileSync(path, 'one')
    const file = await open()
    expect(await file.replaceRefused('Bearer one')).toBe(false)
    writeFileSync(path, 'two')
    expect(await file.replaceRefused('Bearer one')).toBe(true)
    expect(file.authorization()).toBe('Bearer two')
  })

  test('the client does not read the token file again if the server refused an older token', async () => {
    writeFileSync(path, 'one')
    const file = await open()
    rmSync(path)
    expect(await file.replaceRefused('Bearer before')).toBe(true)
    expect(log.lines).toEqual([])
  })

  test.each([
    ['is missing', () => rmSync(path), `failed to read token file "PATH": open PATH: no such file or directory`],
    ['is empty', () => writeFileSync(path, ' \n'), 'read empty token from file "PATH"'],
  ])('the client keeps the old token and logs an error if the token file %s', async (_, spoil, message) => {
    writeFileSync(path, 'one')
    const file = await open()
    spoil()
    await clock.advance(60_000)
    expect(await file.authorization()).toBe('Bearer one')
    expect(log.lines).toMatchObject([{ level: 'error', message: 'Unable to rotate token' }])
    expect(log.lines[0]?.error).toEqual(new Error(message.replaceAll('PATH', path)))
  })

  test('the client throws at the start if the token file is missing', async () => {
    await expect(open()).rejects.toThrow(`failed to read token file "${path}": open ${path}: no such file or directory`)
  })
})
