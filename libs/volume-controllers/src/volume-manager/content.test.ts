import { describe, expect, it } from '@jest/globals'
import type { ContentSource } from '../caches/content-source.ts'
import { configMapData, payloadOf, secretData } from './content.ts'

const source = (change: Partial<ContentSource> = {}): ContentSource => ({
  kind: 'configMap',
  name: 'settings',
  optional: false,
  mode: 0o644,
  items: undefined,
  ...change,
})

const files = (wanted: ContentSource, data: ReadonlyMap<string, Buffer> | undefined) =>
  [...payloadOf(wanted, data)].map(([path, file]) => [path, file.data.toString(), file.mode.toString(8)])

const DATA = configMapData({ data: { a: 'one' }, binaryData: { b: Buffer.from('two').toString('base64') } })

describe('the content of a volume', () => {
  it('returns a file for each key of a ConfigMap', () => {
    expect(files(source(), DATA)).toEqual([
      ['a', 'one', '644'],
      ['b', 'two', '644'],
    ])
  })

  it('returns a file for each key of a Secret', () => {
    const data = secretData({ data: { password: Buffer.from('x').toString('base64') } })
    expect(files(source({ kind: 'secret', mode: 0o400 }), data)).toEqual([['password', 'x', '400']])
  })

  it('returns only the requested files, with their paths and modes, if there are items', () => {
    const items = [
      { key: 'b', path: 'deep/b.txt', mode: 0o600 },
      { key: 'a', path: 'a', mode: undefined },
    ]
    expect(files(source({ items }), DATA)).toEqual([
      ['deep/b.txt', 'two', '600'],
      ['a', 'one', '644'],
    ])
  })

  it.each([
    ['configMap', 'references non-existent config key: c'],
    ['secret', 'references non-existent secret key: c'],
  ] as const)('refuses a %s if a requested key is missing', (kind, why) => {
    const items = [{ key: 'c', path: 'c', mode: undefined }]
    expect(() => payloadOf(source({ kind, items }), DATA)).toThrow(why)
  })

  it('skips missing keys and objects if they are optional', () => {
    const items = [{ key: 'c', path: 'c', mode: undefined }]
    expect(files(source({ optional: true, items }), DATA)).toEqual([])
    expect(files(source({ optional: true }), undefined)).toEqual([])
  })

  it.each(['', '/etc/passwd', '../x', 'a/../../x', '..data'])('refuses the path "%s"', (path) => {
    const items = [{ key: 'a', path, mode: undefined }]
    expect(() => payloadOf(source({ items }), DATA)).toThrow('invalid path')
  })
})
