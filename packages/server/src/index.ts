/** Public names of @orangebox/server. */
export {};
