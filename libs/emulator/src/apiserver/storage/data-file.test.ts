import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { DataFile } from './data-file.ts'

let directory: string
let path: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'data-'))
  path = join(directory, 'data.json')
})
afterEach(() => rm(directory, { recursive: true }))

const open = async () => await DataFile.open(path, systemClock)
const EMPTY = '{"resourceVersion":7,"objects":[]}'

test('the file is created by the first write, for its owner alone, and no other file remains', async () => {
  const { file, snapshot } = await open()
  expect({ snapshot, files: await readdir(directory) }).toEqual({ snapshot: undefined, files: [] })
  await file.write('one')
  await file.write(EMPTY)
  expect((await open()).snapshot).toEqual({ resourceVersion: 7, objects: [] })
  expect(await readdir(directory)).toEqual(['data.json'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('a file that another program has written since the last save stays', async () => {
  const { file } = await open()
  await writeFile(path, 'mine')
  await expect(file.write('one')).rejects.toThrow(`${path} cannot be written: another program has changed it`)
  expect(await readFile(path, 'utf8')).toBe('mine')
  await writeFile(path, EMPTY)
  const again = await open()
  await writeFile(path, 'edited')
  await expect(again.file.write('two')).rejects.toThrow('another program has changed it')
  expect(await readFile(path, 'utf8')).toBe('edited')
  expect(await readdir(directory)).toEqual(['data.json'])
})

test('a file that is no data file is named and stays', async () => {
  const strange = '{"resourceVersion":1,"objects":[{"apiVersion":"v9","kind":"Car","metadata":{}}]}'
  for (const text of ['{', '[]', '{"objects":[]}', 'text', '{"resourceVersion":1,"objects":[1]}', strange]) {
    await writeFile(path, text)
    await expect(open()).rejects.toThrow(path)
    expect(await readFile(path, 'utf8')).toBe(text)
  }
})

test('an empty file holds nothing yet, a link is followed, a mode is kept', async () => {
  const target = join(directory, 'elsewhere')
  await writeFile(target, '', { mode: 0o640 })
  await symlink(target, path)
  const { file, snapshot } = await open()
  expect(snapshot).toBeUndefined()
  await file.write(EMPTY)
  expect(await readFile(target, 'utf8')).toBe(EMPTY)
  expect((await stat(target)).mode & 0o777).toBe(0o640)
})

test('a folder in which nothing can be written is refused before there is anything to write', async () => {
  for (const wrong of [join(directory, 'none', 'data.json'), '/proc/self/data.json']) {
    await expect(DataFile.open(wrong, systemClock)).rejects.toThrow(`${wrong} cannot be written`)
  }
  await expect(DataFile.open(directory, systemClock)).rejects.toThrow(directory)
})
