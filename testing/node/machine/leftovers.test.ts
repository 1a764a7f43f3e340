import { expect, it } from '@jest/globals'
import { deviceText, loopDevicesOf } from './leftovers.ts'

const device = (name: string, inode: number, number = '254:0') => ({
  name,
  'back-ino': inode,
  // losetup of util-linux 2.38 pads the number.
  'back-maj:min': `     ${number}  `,
})

const filesOfDevices = (name: string): string | undefined => `0:6 ${name.replace('/dev/loop', '9')}`

it('only loop devices with a file of the node belong to it', () => {
  const devices = [
    device('/dev/loop0', 7),
    device('/dev/loop1', 8),
    device('/dev/loop2', 7, '8:1'),
    device('/dev/loop3', 0),
  ]
  const found = loopDevicesOf(devices, new Set(['254:0 7']), filesOfDevices)
  expect(found.map(({ name }) => name)).toEqual(['/dev/loop0'])
})

it('loop devices on loop devices of the node come before them', () => {
  const devices = [
    device('/dev/loop0', 7),
    device('/dev/loop1', 90, '0:6'),
    device('/dev/loop2', 91, '0:6'),
    device('/dev/loop3', 95, '0:6'),
  ]
  const found = loopDevicesOf(devices, new Set(['254:0 7']), filesOfDevices)
  expect(found.map(({ name }) => name)).toEqual(['/dev/loop2', '/dev/loop1', '/dev/loop0'])
})

it.each([
  [0xfe00, '254:0'],
  [0x801, '8:1'],
  [0x1_0000_0801 & 0xffffffff, '8:1'],
  [0x10_0300, '3:256'],
])('the device number %d is %s', (number, text) => {
  expect(deviceText(number)).toBe(text)
})
