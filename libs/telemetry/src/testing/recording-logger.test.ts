import { expect, test } from '@jest/globals'
import { recordingLogger } from './recording-logger.ts'

test('a recording logger keeps level, message, pairs and error of all lines, even from derived loggers', () => {
  const log = recordingLogger()
  const error = new Error('x')
  log.info('a')
  log.with({ driver: 'd' }).v(9)?.info('b', { n: 1 })
  log.with({ driver: 'd' }).with({ volume: 'v' }).error(error, 'c')
  expect(log.lines).toEqual([
    { level: 0, message: 'a', pairs: {} },
    { level: 9, message: 'b', pairs: { driver: 'd', n: 1 } },
    { level: 'error', message: 'c', pairs: { driver: 'd', volume: 'v' }, error },
  ])
})
