import { expect, it } from '@jest/globals'
import { deviceText, KUBELET_FOLDER, loopDevicesOf } from './leftovers.ts'

const device = (name: string, file: string | null, inode: number, number = '254:0') => ({
  name,
  'back-file': file,
  'back-ino': inode,
  'back-maj:min': number,
})

it('only loop devices with a file of the node belong to it', () => {
  const devices = [
    device('/dev/loop0', '/volume', 7),
    device('/dev/loop1', '/volume', 8),
    device('/dev/loop2', '/volume', 7, '8:1'),
    device('/dev/loop3', `${KUBELET_FOLDER}/plugins/kubernetes.io/csi/volumeDevices/pv/dev/1`, 9),
    device('/dev/loop4', `${KUBELET_FOLDER}/plugins/kubernetes.io/csi/volumeDevices/pv/dev/2`, 9),
    device('/dev/loop5', null, 0),
  ]
  const found = loopDevicesOf(devices, new Set(['254:0 7']), (path) => path.endsWith('/1'))
  expect(found.map(({ name }) => name)).toEqual(['/dev/loop0', '/dev/loop3'])
})

it.each([
  [0xfe00, '254:0'],
  [0x801, '8:1'],
  [0x1_0000_0801 & 0xffffffff, '8:1'],
  [0x10_0300, '3:256'],
])('the device number %d is %s', (number, text) => {
  expect(deviceText(number)).toBe(text)
})
