import { describe, expect, test } from '@jest/globals'
import { dialError, exchangeError, handshakeError, hostPort } from './network-error.ts'

const node = (code: string, fields: object = {}): Error =>
  Object.assign(new Error(`node says ${code}`), { code }, fields)

test.each([
  ['10.0.0.1', '10.0.0.1:443'],
  ['fd00::1', '[fd00::1]:443'],
  ['api.example.com', 'api.example.com:443'],
])('the host %s with the port 443 is written as %s', (host, text) => {
  expect(hostPort(host, 443)).toBe(text)
})

describe('dialling', () => {
  test.each([
    [node('ECONNREFUSED', { address: '10.0.0.1' }), 'dial tcp 10.0.0.1:443: connect: connection refused'],
    [node('EHOSTUNREACH', { address: 'fd00::1' }), 'dial tcp [fd00::1]:443: connect: no route to host'],
    [node('ENETUNREACH'), 'dial tcp api.example.com:443: connect: network is unreachable'],
    [node('ETIMEDOUT', { address: '10.0.0.1' }), 'dial tcp 10.0.0.1:443: i/o timeout'],
    [node('ENOTFOUND'), 'dial tcp: lookup api.example.com: no such host'],
    [node('EAI_AGAIN'), 'dial tcp: lookup api.example.com: server misbehaving'],
    [node('ESTRANGE'), 'dial tcp api.example.com:443: node says ESTRANGE'],
    [
      new AggregateError([node('ECONNREFUSED', { address: '::1' }), node('ECONNREFUSED')]),
      'dial tcp [::1]:443: connect: connection refused',
    ],
  ])('the network error `%s` of a new connection has the text of Go', (error, text) => {
    expect(dialError(error, 'api.example.com', 443).message).toBe(text)
  })
})

describe('a handshake', () => {
  const failed = 'tls: failed to verify certificate: x509:'
  test.each([
    [node('DEPTH_ZERO_SELF_SIGNED_CERT'), `${failed} certificate signed by unknown authority`],
    [node('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), `${failed} certificate signed by unknown authority`],
    [node('CERT_HAS_EXPIRED'), `${failed} certificate has expired or is not yet valid`],
    [node('ERR_SSL_WRONG_VERSION_NUMBER'), 'http: server gave HTTP response to HTTPS client'],
    [node('ECONNRESET', { syscall: 'read' }), 'read tcp: read: connection reset by peer'],
    [node('ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'), 'the server speaks no HTTP/1.1'],
  ])('the error `%s` of a TLS handshake has the text of Go', (error, text) => {
    expect(handshakeError(error).message).toBe(text)
  })
})

describe('requests', () => {
  test.each([
    [node('ECONNRESET', { syscall: 'read' }), 'read tcp: read: connection reset by peer'],
    [node('EPIPE', { syscall: 'write' }), 'write tcp: write: broken pipe'],
    [new Error('something\n  else'), 'something else'],
  ])('the network error `%s` during a request has the text of Go', (error, text) => {
    expect(exchangeError(error).message).toBe(text)
  })
})
