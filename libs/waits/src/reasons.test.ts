import { expect, it } from '@jest/globals'
import { isReason, remedyOf } from './reasons.ts'

it('`remedyOf` returns `blocked` for a reason that no retry can solve', () => {
  expect(remedyOf('Infeasible')).toBe('blocked')
  expect(remedyOf('DeadlineExceeded')).toBe('retried')
  expect(remedyOf('DeadlineExceeded', 'blocked')).toBe('blocked')
})

it.each(['StorageClassMissing', 'SnapshotClassMissing', 'VolumeAttributesClassMissing'] as const)(
  'no retry helps while a class is missing: %s',
  (reason) => {
    expect(remedyOf(reason)).toBe('blocked')
  },
)

it('a wait for a user stays idle, whatever the caller suggests', () => {
  expect(remedyOf('NoConsumer', 'blocked')).toBe('idle')
})

it.each([
  ['StillAttached', true],
  ['Aborted', true],
  ['SecretNotFound', true],
  ['APIForbidden', true],
  ['APIUnreachable', true],
  ['SecretMissing', false],
  ['OK', false],
  ['toString', false],
  ['', false],
])('the text "%s" of another program is a known reason: %s', (text, isKnown) => {
  expect(isReason(text)).toBe(isKnown)
})
