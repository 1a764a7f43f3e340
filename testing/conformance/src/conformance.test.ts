import { startApiServer } from '@csi-sidecars/emulator'
import { expect, test } from '@jest/globals'
import { compare, DIFFERENCES, differentAnswers, readRecorded } from './compare.ts'
import { CONFORMANCE_CASES } from './index.ts'
import { runConformance } from './run.ts'

test('the emulator answers every recorded request as kube-apiserver did', async () => {
  const tokens = [{ token: 'alice', user: 'alice', uid: 'alice-uid' }]
  await using api = await startApiServer({ tls: true, adminToken: 'admin', tokens })
  const answers = await runConformance({ url: api.url, tokens: { admin: 'admin', alice: 'alice' } }, CONFORMANCE_CASES)
  expect(compare(readRecorded(), answers).join('\n')).toBe('')
}, 60_000)

test('the conformance cases contain at least 150 requests and every patch type', () => {
  const steps = Object.values(CONFORMANCE_CASES).flat()
  expect(steps.length).toBeGreaterThanOrEqual(150)
  for (const kind of ['merge', 'strategic', 'json'] as const) {
    expect(steps.some((step) => step[kind] !== undefined)).toBe(true)
  }
})

test('the emulator has at most ten differences from kube-apiserver, each with a reason', () => {
  expect(DIFFERENCES.length).toBeLessThanOrEqual(10)
  expect(DIFFERENCES.filter(({ why }) => why === '')).toEqual([])
})

test('the comparison reports the path and both values of a field that differs', () => {
  const recorded = { title: 's', asked: 'GET /x', answer: { code: 200, body: { a: [1, 2] } } }
  const other = { ...recorded, answer: { code: 200, body: { a: [1, 3] } } }
  expect(compare([recorded], [recorded])).toEqual([])
  expect(compare([recorded], [other])).toEqual(['s: GET /x\n  .answer.body.a.1\n    expected 2\n    actual   3'])
})

test('only the answers that differ from those of the base version are recorded for another version', () => {
  const answer = (title: string, code: number) => ({ title, asked: 'GET /x', answer: { code, body: {} } })
  const base = [answer('a', 200), answer('b', 404)]
  expect(differentAnswers([answer('a', 200), answer('b', 410)], base)).toEqual([{ index: 1, ...answer('b', 410) }])
})
