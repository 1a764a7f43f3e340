import { expect, it } from '@jest/globals'
import { finalizerName } from './finalizer-name.ts'

it.each([
  ['csi.example.com', 'external-attacher/csi-example-com'],
  ['Csi-9', 'external-attacher/Csi-9'],
  ['s!a@n#i$t(i%z^e&d*', 'external-attacher/s-a-n-i-t-i-z-e-d-X'],
  ['driver.', 'external-attacher/driver-X'],
  ['driver-', 'external-attacher/driver-X'],
  ['a_b', 'external-attacher/a-b'],
  ['a😀b', 'external-attacher/a-b'],
  ['ä', 'external-attacher/-X'],
  ['', 'external-attacher/'],
])('the finalizer of the driver %j is %j', (driver, finalizer) => {
  expect(finalizerName(driver)).toBe(finalizer)
})
