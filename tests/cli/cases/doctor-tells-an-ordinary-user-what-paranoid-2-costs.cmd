as_user ./coati doctor
