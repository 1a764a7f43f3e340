import { expect, it } from '@jest/globals'
import { callsTwiceAtOnce, firstGap } from './calls.ts'

const start = (method: string, request: object): string =>
  `I1 1 server.go:107] GRPC call: /csi.v1.Controller/${method}\nI1 1 server.go:111] GRPC request: ${JSON.stringify(request)}`
const end = (method: string, Request: object): string =>
  `I1 1 server.go:165] gRPCCall: ${JSON.stringify({ Method: `/csi.v1.Controller/${method}`, Request, Error: '' })}`
const probe = 'I1 1 server.go:111] GRPC request: {}'

it('a call that starts while the same call for the same volume runs is found', () => {
  const create = start('CreateVolume', { name: 'a' })
  expect(callsTwiceAtOnce([create, probe, create, end('CreateVolume', { name: 'a' })].join('\n'))).toEqual([
    '/csi.v1.Controller/CreateVolume a',
  ])
})

it.each([
  ['another volume', start('DeleteVolume', { volume_id: '2' })],
  ['another call', start('ControllerExpandVolume', { volume_id: '1' })],
  [
    'the same call after the end',
    `${end('DeleteVolume', { volume_id: '1' })}\n${start('DeleteVolume', { volume_id: '1' })}`,
  ],
])('%s at the same time is allowed', (_, second) => {
  expect(callsTwiceAtOnce(`${start('DeleteVolume', { volume_id: '1' })}\n${second}`)).toEqual([])
})

it('questions to the driver are allowed at any time', () => {
  const question = start('ControllerGetVolume', { volume_id: '1' })
  expect(callsTwiceAtOnce(`${question}\n${question}`)).toEqual([])
})

it.each([
  ['1\n2\n3\n', undefined],
  ['1\n3\n', 'line 2 is "3"'],
  ['', 'line 1 is ""'],
])('the numbers %j have the gap %s', (text, gap) => {
  expect(firstGap(text)).toBe(gap)
})
