import base from '../jest.config.base.mjs'

export default { ...base, testMatch: ['<rootDir>/tests/**/*.test.ts'], globalSetup: '<rootDir>/tests/setup.mjs' }
