import { expect, test } from '@jest/globals'
import { parseFaults } from './fault-file.ts'

test('rules for both servers are read', () => {
  const file = {
    api: [
      { match: { verb: 'patch', resource: 'volumeattachments/status' }, times: 3, action: { do: 'answer', code: 409 } },
    ],
    driver: [{ match: { method: 'ControllerPublishVolume' }, action: { do: 'crash', applied: true } }],
  }
  expect(parseFaults(file)).toEqual(file)
  expect(parseFaults({})).toEqual({ api: [], driver: [] })
})

test.each([
  [[], 'the file must be an object'],
  [{ rules: [] }, 'the file.rules is not known; there are api, driver'],
  [{ api: {} }, 'api must be a list of rules'],
  [{ api: [{ action: { do: 'explode' } }] }, 'api[0].action.do must be one of answer, delay, hang, cut, endWatch'],
  [{ api: [{ action: { do: 'hang', ms: 5 } }] }, 'api[0].action.ms is not known; there are do, applied'],
  [
    { driver: [{ match: { volume: 'x' }, action: { do: 'hang' } }] },
    'driver[0].match.volume is not known; there are method, volumeId, nodeId',
  ],
  [{ driver: [{ times: 'often', action: { do: 'hang' } }] }, 'driver[0].times must be a number'],
])('%j is refused', (file, message) => {
  expect(() => parseFaults(file)).toThrow(message)
})
