import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, test } from '@jest/globals'
import { type FileSource, ReloadingFile } from './certificates.ts'

function source(): FileSource<string> & { texts: string[]; unreadable: Error | undefined } {
  return {
    texts: ['a'],
    unreadable: undefined,
    async read() {
      if (this.unreadable !== undefined) throw this.unreadable
      return [...this.texts]
    },
    parse: ([text = '']) => {
      if (text.startsWith('bad')) throw new Error(`cannot use ${text}`)
      return text.toUpperCase()
    },
    loadedMessage: 'Loaded',
    refusedMessage: 'Refused',
  }
}

test('the new content of a reloaded file takes effect, and the change is logged', async () => {
  const from = source()
  const log = recordingLogger()
  const value = await ReloadingFile.open(from, log)
  expect([await value.reload(), value.value]).toEqual([false, 'A'])
  from.texts = ['b']
  expect([await value.reload(), value.value]).toEqual([true, 'B'])
  expect([await value.reload(), value.value]).toEqual([false, 'B'])
  expect(log.lines.map(({ message }) => message)).toEqual(['Loaded'])
})

test('the invalid new content of a reloaded file is logged once, and the old content stays in use', async () => {
  const from = source()
  const log = recordingLogger()
  const value = await ReloadingFile.open(from, log)
  from.texts = ['bad']
  for (let looks = 0; looks < 3; looks += 1) expect([await value.reload(), value.value]).toEqual([false, 'A'])
  from.unreadable = new Error('gone')
  for (let looks = 0; looks < 3; looks += 1) expect([await value.reload(), value.value]).toEqual([false, 'A'])
  expect(log.lines).toMatchObject([
    { level: 'error', message: 'Refused', error: { message: 'cannot use bad' } },
    { level: 'error', message: 'Refused', error: { message: 'gone' } },
  ])
})

test('each time a reloaded file becomes invalid, one log line reports the file', async () => {
  const from = source()
  const log = recordingLogger()
  const value = await ReloadingFile.open(from, log)
  for (const text of ['bad', 'a', 'bad']) {
    from.texts = [text]
    expect(await value.reload()).toBe(false)
  }
  expect(log.lines).toHaveLength(2)
})

test('a file that cannot be used at the start of the process is an error', async () => {
  const from = source()
  from.texts = ['bad']
  await expect(ReloadingFile.open(from, recordingLogger())).rejects.toThrow('cannot use bad')
})
