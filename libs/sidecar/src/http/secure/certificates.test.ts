import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { keyPairSource, selfSignedSource } from './certificates.ts'

/** Returns a function that reads files. All files change when the number of reads reaches an entry of `reads`. */
function replacedAfter(reads: readonly number[]): (file: string) => Promise<string> {
  let read = 0
  return async (file) => {
    const version = reads.filter((each) => read >= each).length
    read += 1
    return `${file} ${version}`
  }
}

test.each([
  ['before', [0], ['crt 1', 'key 1']],
  ['between certificate and key', [1], ['crt 1', 'key 1']],
  ['after the key', [2], ['crt 1', 'key 1']],
  ['again in the second reading', [1, 4], ['crt 2', 'key 2']],
])('the server reads certificate and key in the same version if they are replaced %s', async (_, reads, expected) => {
  expect(await keyPairSource('crt', 'key', replacedAfter(reads)).read()).toEqual(expected)
})

test('the server stops reading a certificate file again if the file changes at each read', async () => {
  const always = Array.from({ length: 100 }, (_, index) => index)
  expect(await keyPairSource('crt', 'key', replacedAfter(always)).read()).toHaveLength(2)
})

test('a self-signed certificate is renewed after half of its lifetime', async () => {
  const clock = new FakeClock()
  const source = selfSignedSource(clock, 'host-1')
  const first = await source.read()
  await clock.advance(182 * 24 * 60 * 60 * 1000)
  expect(await source.read()).toEqual(first)
  await clock.advance(24 * 60 * 60 * 1000)
  const second = await source.read()
  expect(second[0]).not.toBe(first[0])
  expect(source.parse(second)).toEqual({ cert: second[0], key: second[1] })
})
