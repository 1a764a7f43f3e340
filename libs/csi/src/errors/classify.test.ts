import { expect, test } from '@jest/globals'
import { classify } from './classify.ts'
import { CODES, codeNameOf, RpcError } from './rpc-error.ts'

// The codes after which the operation may still run. Tests of upstream and of users rely on them.
const NON_FINAL = new Set(['Canceled', 'DeadlineExceeded', 'ResourceExhausted', 'Aborted', 'Unavailable'])
const INFEASIBLE_TO_EXPAND = new Set(['InvalidArgument', 'NotFound', 'OutOfRange'])

test.each(Object.entries(CODES).filter(([name]) => name !== 'OK'))(
  'the gRPC code %s decides whether an error is final, infeasible, or about a volume in use',
  (name, code) => {
    const verdict = classify(new RpcError(code, 'x'))
    expect(verdict).toMatchObject({
      final: !NON_FINAL.has(name),
      infeasible: { expand: INFEASIBLE_TO_EXPAND.has(name), modify: name === 'InvalidArgument' },
      inUse: name === 'FailedPrecondition',
    })
    expect(verdict.why).not.toBe('')
  },
)

test('a code that gRPC does not define counts as final, but not as infeasible', () => {
  expect(classify(new RpcError(99, 'x'))).toMatchObject({
    final: true,
    infeasible: { expand: false, modify: false },
    inUse: false,
  })
})

test.each([[new Error('secrets "creds" not found')], ['text'], [undefined]])(
  'an error without a gRPC status is not final: %s',
  (error) => {
    expect(classify(error)).toMatchObject({ final: false, infeasible: { expand: false, modify: false }, inUse: false })
  },
)

test('the classification of an error ignores the errors in its `cause`', () => {
  expect(classify(new Error('x', { cause: new RpcError(CODES.Internal, 'x') })).final).toBe(false)
})

test.each([
  [0, 'OK'],
  [1, 'Canceled'],
  [16, 'Unauthenticated'],
  [17, 'Code(17)'],
  [-1, 'Code(-1)'],
])('the gRPC code %d is printed as %s', (code, name) => {
  expect(codeNameOf(code)).toBe(name)
})
