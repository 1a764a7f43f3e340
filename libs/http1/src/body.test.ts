import { Socket } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { Body } from './body.ts'
import { HttpConnection } from './connection.ts'

let lost: number
let connection: HttpConnection
beforeEach(() => {
  lost = 0
  connection = new HttpConnection(new Socket(), {
    clock: new FakeClock(),
    onLost: () => {
      lost += 1
    },
  })
})

describe('a body', () => {
  test('the client joins the chunks of a response body', () => {
    const body = new Body(connection, { body: 10 })
    for (const part of ['\u00e4b', 'c', '', 'defghi']) body.push(Buffer.from(part))
    expect(body.bytes().toString()).toBe('\u00e4bcdefghi')
    expect(lost).toBe(0)
  })

  test('a response body is empty if no bytes were received', () => {
    expect(new Body(connection).bytes()).toHaveLength(0)
  })

  test('a response body that exceeds the limit ends the connection, and its bytes are dropped', () => {
    const body = new Body(connection, { body: 10 })
    body.push(Buffer.alloc(10))
    expect(lost).toBe(0)
    body.push(Buffer.alloc(1))
    expect(lost).toBe(1)
    expect(body.bytes()).toHaveLength(0)
  })

  test('the client reads the body of a refusal only up to a size limit', () => {
    const body = new Body(connection, { refusal: 10 })
    body.begin({ status: 500, header: () => '1000' })
    body.push(Buffer.from('123456'))
    expect(body.isRefusalComplete).toBe(false)
    body.push(Buffer.from('7890abc'))
    expect(body.isRefusalComplete).toBe(true)
    expect(body.bytes().toString()).toBe('1234567890')
    expect(lost).toBe(0)
  })

  test.each([
    ['10', 0],
    ['11', 1],
    [undefined, 0],
  ])('a response body that is announced with %s bytes ends %d connections', (length, times) => {
    new Body(connection, { body: 10 }).begin({ status: 200, header: () => length })
    expect(lost).toBe(times)
  })
})
